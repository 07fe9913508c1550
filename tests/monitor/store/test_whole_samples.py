from __future__ import annotations

import pytest
from sqlalchemy import delete

from monitor.store import EndpointRecord, Store, whole_samples
from monitor.store.tables import SampleBody
from monitor.store.whole_samples import WholeSamples
from tests.monitor.store.material import AT, sample, start


def test_samples_come_in_order_with_what_is_kept_of_them(
    store: Store, endpoint: EndpointRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole_samples, "CHUNK", 2)
    run, other = (store.begin_run(start(endpoint.id), at=AT) for _ in range(2))
    for number in range(5):
        store.add_samples(run, [sample(f"item-{number}")], at=AT)
        store.add_samples(other, [sample(f"other-{number}")], at=AT)
    samples = WholeSamples(store.sessions)
    third = list(samples.of_run(run))[2].facts.id
    with store.sessions.write() as session:
        session.execute(delete(SampleBody).where(SampleBody.sample_id == third))

    found = list(samples.of_run(run))

    assert [one.facts.item_key for one in found] == [f"item-{number}" for number in range(5)]
    assert [one.exchange and one.exchange.item_key for one in found] == ["item-0", "item-1", None, "item-3", "item-4"]
    ids = [one.facts.id for one in found]
    assert [one.facts.id for one in samples.of_ids([ids[4], ids[0], ids[1], 10**9])] == [ids[0], ids[1], ids[4]]
    assert list(samples.of_run("run_0")) == list(samples.of_ids([])) == []

from __future__ import annotations

from datetime import timedelta

import pytest

from monitor.store import EndpointRecord, Store, retention
from monitor.store.retention import Prune, Retention
from tests.monitor.store.material import AT, finished_run, sample, start

DAY = timedelta(days=1)


@pytest.mark.parametrize("what", [retention.bodies, retention.samples, retention.points])
def test_rows_of_a_clock_that_ran_ahead_do_not_keep_the_old_ones_behind_them(
    store: Store, endpoint: EndpointRecord, what: Prune, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "AT_ONCE", 2)
    for at in (AT + 3653 * DAY, AT):
        run_id = store.begin_run(start(endpoint.id), at=at)
        store.add_samples(run_id, [sample(f"{at:%Y}-{number}") for number in range(3)], at=at)
        finished_run(store, endpoint.id, at)
    kept = Retention(store.sessions)

    deleted = 0
    while some := kept.prune(what, AT + DAY, AT + 2 * DAY):
        deleted += some

    assert deleted >= 1
    if what is not retention.points:
        assert deleted == 3
    assert kept.prune(what, AT + 4000 * DAY, AT + 4001 * DAY) > 0

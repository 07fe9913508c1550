"""Which run of each endpoint of a model counts, and the answers that are read of it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from monitor.store import EndpointRecord, RunStatus, Store
from monitor.store.anchors import Anchors, AskedEndpoint
from monitor.store.codec import decode
from probes.logprobs import confirming_plan
from probes.plan import ProbeKind
from tests.monitor.store.beside import NONCE, SEED, Answers, answered, hosted, items, observed, world
from tests.monitor.store.material import AT, canonical, later

DAY = timedelta(days=1)


@pytest.fixture
def answers() -> Answers:
    (one,) = world([()])
    return one


@pytest.fixture
def hosts(store: Store) -> list[EndpointRecord]:
    return [hosted(store, number, later(number)) for number in range(2)]


def runs(store: Store, model: str = "smol") -> list[str | None]:
    return [each.run_id for each in Anchors(store.sessions).asked(model, AT - DAY, AT).endpoints]


def test_the_latest_whole_run_within_the_time_counts(
    store: Store, hosts: list[EndpointRecord], answers: Answers
) -> None:
    first, second = hosts
    answered(store, first, answers, AT - timedelta(hours=9))
    latest = answered(store, first, answers, AT - timedelta(hours=3))
    answered(store, second, answers, AT - DAY - timedelta(seconds=1))
    answered(store, second, answers, AT + timedelta(seconds=1))

    assert Anchors(store.sessions).asked("smol", AT - DAY, AT).endpoints == (
        AskedEndpoint(first.id, "host-0", "smol", latest, AT - timedelta(hours=3)),
        AskedEndpoint(second.id, "host-1", "smol", None, None),
    )


def test_the_ends_of_the_time_are_within_it(store: Store, hosts: list[EndpointRecord], answers: Answers) -> None:
    assert runs(store) == [None, None]
    assert [answered(store, hosts[0], answers, AT - DAY), answered(store, hosts[1], answers, AT)] == runs(store)


def test_endpoints_of_another_model_are_not_among_them(store: Store, answers: Answers) -> None:
    other = answered(store, hosted(store, 0, AT, model="large"), answers, AT)

    assert runs(store) == []
    assert runs(store, "large") == [other]


@pytest.mark.parametrize("status", [RunStatus.PARTIAL, RunStatus.FAILED, RunStatus.CANCELLED])
def test_a_run_that_was_broken_off_does_not_count(
    store: Store, hosts: list[EndpointRecord], answers: Answers, status: RunStatus
) -> None:
    whole = answered(store, hosts[0], answers, AT - timedelta(hours=3))
    answered(store, hosts[0], answers, AT, status=status)

    assert runs(store) == [whole, None]


def test_a_run_that_asked_no_anchors_does_not_count(
    store: Store, hosts: list[EndpointRecord], answers: Answers
) -> None:
    whole = answered(store, hosts[0], answers, AT - timedelta(hours=3))
    answered(store, hosts[0], answers, AT, asked=confirming_plan(SEED, NONCE, n=20).items)
    answered(store, hosts[0], answers, AT, probe=ProbeKind.ACCOUNTING)

    assert runs(store) == [whole, None]


@pytest.mark.parametrize("reference", [False, True])
def test_the_answers_are_those_to_anchors_bit_for_bit(
    store: Store, hosts: list[EndpointRecord], answers: Answers, reference: bool
) -> None:
    run_id, other = (answered(store, host, answers, AT, reference=reference) for host in hosts)

    found = Anchors(store.sessions).of([run_id, other])

    assert set(found) == {run_id, other}
    wanted = [one for one in observed(answers, items(reference=reference)) if one.anchor]
    assert [canonical(decode(blob)) for blob in found[run_id]] == [canonical(one) for one in wanted]
    assert len(wanted) == (20 if reference else 40)


def test_anchors_of_one_seed_are_the_same_with_a_reference_and_without() -> None:
    with_reference, without = (
        [item.key for item in items(reference=reference, nonce=nonce) if item.anchor and item.rep == 0]
        for reference, nonce in ((True, b"a" * 16), (False, b"b" * 16))
    )
    assert with_reference == without[: len(with_reference)]
    assert (len(with_reference), len(without)) == (10, 20)

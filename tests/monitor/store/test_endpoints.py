from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from sqlalchemy import select

from monitor.errors import StorageError
from monitor.store import ChangeKind, EndpointRecord, Store
from monitor.store.tables import ChangeEvent
from tests.monitor.store.material import AT, REFERENCE, finished_run, identity, later, result, start


@pytest.fixture
def changes(store: Store) -> Callable[[], list[tuple[ChangeKind, str]]]:
    def read() -> list[tuple[ChangeKind, str]]:
        with store.sessions.read() as session:
            events = session.scalars(select(ChangeEvent).order_by(ChangeEvent.id))
            return [(event.kind, event.text) for event in events]

    return read


def test_an_identity_makes_one_endpoint(store: Store) -> None:
    routing = {"order": ["deepinfra/fp8"], "allow_fallbacks": False}
    first = store.ensure_endpoint(identity(routing=routing, labels={"tier": "prod"}), at=AT)
    again = store.ensure_endpoint(
        identity(routing=dict(reversed(routing.items())), labels={"tier": "prod"}), at=later(5)
    )

    assert again == first
    assert first == EndpointRecord(
        id=first.id,
        provider="acme",
        base_url="https://api.acme.test/v1",
        model="smol",
        served_name="smol",
        routing=routing,
        labels={"tier": "prod"},
        capabilities={},
        created_at=AT,
    )
    assert store.endpoints() == [first]


@pytest.mark.parametrize(
    "other",
    [
        identity("umbrella"),
        identity(model="large", served_name="smol"),
        identity(served_name="smol-turbo"),
        identity(routing={"order": ["deepinfra/bf16"]}),
    ],
)
def test_what_tells_endpoints_apart(store: Store, endpoint: EndpointRecord, other: object) -> None:
    assert store.ensure_endpoint(other, at=AT).id != endpoint.id  # type: ignore[arg-type]


def test_they_are_found_by_provider_and_model(store: Store, endpoint: EndpointRecord) -> None:
    large = store.ensure_endpoint(identity(model="large"), at=later(1))
    umbrella = store.ensure_endpoint(identity("umbrella"), at=later(2))

    assert store.endpoints(provider="acme") == [endpoint, large]
    assert store.endpoints(model="smol") == [endpoint, umbrella]
    assert store.endpoints(provider="acme", model="large") == [large]
    assert store.endpoints(provider="nobody") == []
    assert store.providers() == ["acme", "umbrella"]


def test_a_moved_provider_is_the_same_and_the_move_is_logged(
    store: Store, endpoint: EndpointRecord, changes: Callable[[], list[tuple[ChangeKind, str]]]
) -> None:
    moved = store.ensure_endpoint(identity(base_url="https://new.acme.test/v1", labels={"tier": "test"}), at=later(1))

    assert moved == replace(endpoint, base_url="https://new.acme.test/v1", labels={"tier": "test"})
    assert changes() == [
        (ChangeKind.CONFIG, "base_url changed from https://api.acme.test/v1 to https://new.acme.test/v1")
    ]


def test_capabilities_are_kept(store: Store, endpoint: EndpointRecord) -> None:
    learned = {"token_limit_parameter": "max_completion_tokens", "min_max_tokens": 16, "unsupported": ["seed"]}

    store.save_capabilities(endpoint.id, learned)

    assert store.ensure_endpoint(identity(), at=later(1)).capabilities == learned


def test_capabilities_of_no_endpoint_are_refused(store: Store) -> None:
    with pytest.raises(StorageError, match="There is no endpoint ep_unknown"):
        store.save_capabilities("ep_unknown", {})


def test_a_changed_reference_is_logged_once(
    store: Store, endpoint: EndpointRecord, changes: Callable[[], list[tuple[ChangeKind, str]]]
) -> None:
    finished_run(store, endpoint.id)
    finished_run(store, endpoint.id, later(1))
    assert changes() == []

    newer = replace(REFERENCE, engine_version="0.2.0")
    for minute in (2, 3):
        run_id = store.begin_run(start(endpoint.id, reference=newer), at=later(minute))
        store.finish_run(run_id, result(), at=later(minute))

    assert changes() == [
        (
            ChangeKind.REFERENCE,
            "reference: sha256:aa (own 0.1.0; fp32, bf16) before, sha256:aa (own 0.2.0; fp32, bf16) now",
        )
    ]


def test_a_run_without_a_reference_changes_none(
    store: Store, endpoint: EndpointRecord, changes: Callable[[], list[tuple[ChangeKind, str]]]
) -> None:
    finished_run(store, endpoint.id)

    run_id = store.begin_run(start(endpoint.id, reference=None), at=later(1))

    assert store.run(run_id).reference_fingerprint is None
    assert changes() == []


def test_a_fingerprint_never_seen_before_is_logged(
    store: Store, endpoint: EndpointRecord, changes: Callable[[], list[tuple[ChangeKind, str]]]
) -> None:
    for minute, fingerprint in enumerate(["fp_1", "fp_1", "fp_2", "fp_1", None, "fp_3"]):
        finished_run(store, endpoint.id, later(minute), outcome=result(fingerprint=fingerprint))

    assert changes() == [
        (ChangeKind.FINGERPRINT, "served fingerprint: fp_1 before, fp_2 now"),
        (ChangeKind.FINGERPRINT, "served fingerprint: fp_1 before, fp_3 now"),
    ]


def test_under_a_new_name_an_endpoint_is_the_same_one(store: Store) -> None:
    before = store.ensure_endpoint(identity("acme", "llama", served_name="m"), at=AT)

    renamed = identity("bolt", "kea", served_name="m", provider_was="acme", model_was="llama")
    after = [store.ensure_endpoint(renamed, at=AT) for _ in range(2)]

    assert [(record.id, record.provider, record.model) for record in after] == [(before.id, "bolt", "kea")] * 2


def test_two_names_that_were_both_checked_stay_two(store: Store) -> None:
    before = [store.ensure_endpoint(identity(provider), at=AT) for provider in ("acme", "bolt")]

    after = store.ensure_endpoint(identity("bolt", provider_was="acme"), at=AT)

    assert after.id == before[1].id
    assert sorted(record.provider for record in store.endpoints()) == ["acme", "bolt"]

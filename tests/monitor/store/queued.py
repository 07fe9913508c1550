"""What the tests of the queue put into it, and what other processes do to it."""

from __future__ import annotations

from datetime import timedelta

from monitor.store import CheckEntry, CheckRequest, Limits, Queue, Store, Trigger, limits
from tests.monitor.store.material import AT, identity

SECOND = timedelta(seconds=1)


def request(endpoint_id: str, key: str = "slot-1", **other: object) -> CheckRequest:
    fields: dict[str, object] = {"trigger": Trigger.SCHEDULE, "slot_at": AT, "schedule": "default", **other}
    return CheckRequest(key, endpoint_id, **fields)  # type: ignore[arg-type]


def enqueued(store: Store, endpoint_id: str, key: str = "slot-1", **other: object) -> CheckEntry:
    (entry,) = Queue(store.sessions).enqueue([request(endpoint_id, key, **other)], AT)
    return entry


def enqueued_apart(store: Store, count: int, **other: object) -> list[CheckEntry]:
    """Checks of as many endpoints: none waits for another."""
    ids = [store.ensure_endpoint(identity(f"provider-{number}"), at=AT).id for number in range(count)]
    return [enqueued(store, endpoint_id, f"apart-{endpoint_id}", **other) for endpoint_id in ids]


def claim_all(url: str, owner: str, *check_ids: str) -> list[str]:
    """Claim every check that is still to be had; which."""
    with Store.open(url, at=AT) as store:
        queue = Queue(store.sessions)
        return [check_id for check_id in check_ids if queue.claim(check_id, owner, AT) is not None]


def take_tokens(url: str, wanted: float) -> int:
    """Take tokens one by one until there are no more; how many."""
    with Store.open(url, at=AT) as store:
        rates = Limits(store.sessions)
        taken = 0
        while rates.take_tokens("acme", wanted, per_minute=60, burst=40, at=AT) == 0.0:
            taken += 1
        return taken


def reserve(url: str, *check_ids: str) -> int:
    """Reserve 30 of a budget of 1000 for each check; how much was granted."""
    with Store.open(url, at=AT) as store:
        granted = 0
        for check_id in check_ids:
            with store.sessions.write() as session:
                granted += limits.reserve(session, check_id, "acme", AT.date(), 30, 1000) or 0
        return granted

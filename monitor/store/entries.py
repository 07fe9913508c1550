"""What goes into the queue, its limits and its signs of life, and what comes out: frozen values."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from monitor.drift.rule import Verdict
from monitor.store.vocabulary import RunStatus, Trigger

_NONCE_BYTES = 16


def new_nonce() -> str:
    return secrets.token_hex(_NONCE_BYTES)


@dataclass(frozen=True, slots=True)
class CheckRequest:
    """A check that is wanted. Two requests with one `idempotency_key` are one check. `options` holds JSON values;
    `confirms` is the check that this one repeats; past `deadline` nobody begins it; `nonce` makes its single-use
    prompts."""

    idempotency_key: str
    endpoint_id: str
    trigger: Trigger
    slot_at: datetime
    options: Mapping[str, Any] = field(default_factory=dict)
    schedule: str | None = None
    confirms: str | None = None
    deadline: datetime | None = None
    nonce: str = field(default_factory=new_nonce)


@dataclass(frozen=True, slots=True)
class CheckEntry:
    """A check as the queue knows it; `provider` and `model` are the endpoint's slugs."""

    id: str
    idempotency_key: str
    endpoint_id: str
    provider: str
    model: str
    trigger: Trigger
    schedule: str | None
    confirms: str | None
    options: Mapping[str, Any]
    nonce: str
    status: RunStatus
    attempt: int
    lease_owner: str | None
    lease_until: datetime | None
    rung_at: datetime | None
    done: int
    planned: int
    verdict: Verdict | None
    enrolled: bool
    error_code: str | None
    error: str | None
    slot_at: datetime
    deadline: datetime | None
    queued_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to write for a check: `attempt` tells it from those of earlier and later owners. `until` is None for a
    check in its caller's own process, which nobody takes over."""

    check_id: str
    owner: str
    attempt: int
    until: datetime | None


@dataclass(frozen=True, slots=True)
class Claimed:
    """A check that was won: `entry` is as it is now, with `done` of earlier attempts. `begun`: there are runs of it."""

    lease: Lease
    entry: CheckEntry
    begun: bool = False


@dataclass(frozen=True, slots=True)
class Swept:
    """Check ids: whose bell has to be rung again, which failed for good, and which came too late."""

    to_ring: tuple[str, ...]
    failed: tuple[str, ...]
    expired: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Backlog:
    """How many checks wait for a worker, and since when the first of them does."""

    count: int
    oldest: datetime | None


@dataclass(frozen=True, slots=True)
class Beat:
    """A process of the service: `seen_at` is its last sign of life, `progress_at` when it last finished some work."""

    name: str
    kind: str
    queues: tuple[str, ...]
    version: str
    started_at: datetime
    seen_at: datetime
    progress_at: datetime

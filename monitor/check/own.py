"""A check that a process makes for itself, not the queue's: begun anew, or gone on with where it was broken off."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Self

from monitor.check.budget import Budget
from monitor.check.options import CheckOptions
from monitor.errors import UsageError
from monitor.store import CheckEntry, Queue, Store

NONCE_BYTES = 16
# Answers that are further apart are not those of one endpoint.
RESUMABLE = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class OwnCheck:
    """`nonce` and `at` are what its prompts are drawn from, `options` what it can be known again by, `goes_on` the
    check that it takes up."""

    nonce: bytes
    at: datetime
    options: Mapping[str, Any] = field(default_factory=dict)
    goes_on: str | None = None

    @classmethod
    def new(cls, options: CheckOptions, at: datetime) -> Self:
        return cls(secrets.token_bytes(NONCE_BYTES), at, _known_by(options))

    @classmethod
    def again(cls, entry: CheckEntry) -> Self:
        return cls(bytes.fromhex(entry.nonce), entry.slot_at, entry.options, entry.id)


def broken_off(store: Store, endpoint_id: str, options: CheckOptions, at: datetime) -> OwnCheck:
    """The check to go on with: the last one with these options, limits aside. Raises `nothing_broken_off`."""
    found = Queue(store.sessions).broken_off(endpoint_id, _known_by(options), at - RESUMABLE)
    if found is None:
        raise nothing_broken_off()
    return OwnCheck.again(found)


def nothing_broken_off() -> UsageError:
    return UsageError(
        "There is no check to go on with: none with these options was broken off within a day.",
        remedy="Give the options that it had, or leave --resume out.",
    )


def _known_by(options: CheckOptions) -> dict[str, Any]:
    return replace(options, budget=Budget(), timeout=None).to_json()

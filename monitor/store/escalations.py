"""What a suspicion of an endpoint's streams asks for: checks whose answers no stream has seen, one after another, and
the end of the escalation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from monitor.drift.evidence import StreamKey, Tier
from monitor.drift.score_stream import StreamRule
from monitor.store import stream_adding
from monitor.store.entries import CheckEntry, CheckRequest
from monitor.store.stream_recorded import current
from monitor.store.stream_rows import open_epoch_or_none
from monitor.store.tables import EndpointCheck
from monitor.store.vocabulary import Trigger
from probes.plan import ProbeKind

# So many checks, and what was staked goes back.
CHECKS = 3
_PROBES = {Tier.GREEDY: ProbeKind.GREEDY, Tier.SAMPLING: ProbeKind.SAMPLING}
# Streams of these tiers that need no levels: their nulls are what the endpoint says of its draws, and the reference's
# tokens.
_PROBE_SETS = frozenset({"draws", "copies", "factors", "near-ties"})


def escalated(rules: Mapping[StreamKey, StreamRule]) -> dict[StreamKey, StreamRule]:
    """Those of an endpoint's streams that an escalation asks as well. What it asks about has come by then: all of its
    stake is in its first answers, where a stream waits for a change with a part of it each round."""
    asked = (key for key in rules if key.tier in _PROBES and key.probe_set in _PROBE_SETS)
    return {key: replace(rules[key], rounds_a_day=1, epoch_days=1) for key in asked}


@dataclass(frozen=True, slots=True)
class _Open:
    """An escalation that is open: the probes that can say anything, how many checks it has asked for, and whether one
    of these is still to be made."""

    name: str
    probes: tuple[str, ...]
    asked: int
    waits: bool


def next_check(
    session: Session, entry: CheckEntry, options: Mapping[str, Any], deadline: datetime, at: datetime
) -> CheckRequest | None:
    """What the endpoint's open escalation asks next, now that a check has ended; without anything to ask it is closed.
    None where none is open, and while one of its checks is still to be made."""
    found = _open(session, entry.endpoint_id)
    if found is None or found.waits:
        return None
    if found.asked >= CHECKS or not found.probes:
        stream_adding.close_escalation(session, entry.endpoint_id, at)
        return None
    return CheckRequest(
        f"{found.name}{found.asked + 1}",
        entry.endpoint_id,
        Trigger.ESCALATE,
        at,
        {**options, "probes": list(found.probes)},
        confirms=entry.id if entry.confirms is None else entry.confirms,
        deadline=deadline,
    )


def _open(session: Session, endpoint_id: str) -> _Open | None:
    epoch = open_epoch_or_none(session, endpoint_id)
    if epoch is None or not epoch.escalation:
        return None
    now = current(session, epoch)
    if not now.escalation.streams:
        return None
    name = f"escalate:{endpoint_id}:{epoch.number}:{now.escalation.number}:"
    of_it = EndpointCheck.idempotency_key.startswith(name, autoescape=True)
    statuses = session.scalars(select(EndpointCheck.status).where(of_it)).all()
    live = (key for key in now.escalation.streams if key not in now.streams or now.streams[key].why_not is None)
    probes = sorted({_PROBES[key.tier].value for key in live if key.tier in _PROBES})
    return _Open(name, tuple(probes), len(statuses), any(not status.finished for status in statuses))

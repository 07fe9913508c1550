"""Enters the checks whose time has come, and notices endpoints that nothing is heard of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from monitor.alerts.rule import AlertRule, Watch, rule_for
from monitor.alerts.signals import Tick
from monitor.check.options import CheckOptions
from monitor.errors import BudgetError
from monitor.fault_points import FaultPoint, fault_point
from monitor.schedule import CatchUp, deadline, due
from monitor.store import CheckRequest, Trigger
from monitor.store.alerts import last_verdict_at
from monitor.store.outbox import record_service_event
from monitor.store.queue_silence import our_fault
from monitor.worker import prune
from monitor.worker.canary import connectivity
from monitor.worker.names import EXECUTE, PRUNE
from probes.plan import ProbeKind
from reference_engine.errors import EngineError

if TYPE_CHECKING:
    from monitor.config.service import Schedule
    from monitor.worker.configured import Configured, KnownEndpoint
    from monitor.worker.context import Context
    from probes.load.probe import Load

# In the table of settings: when the last tick ran, and since when they have been running without a gap.
TICKING = "ticking"
_LONGEST_GAP = timedelta(minutes=2)
# Of two hosts, whose ticks may come at the same time.
_MOST_CLOCK_SKEW = timedelta(minutes=1)
# Faults of ours that the check itself has told of.
_TOLD = {BudgetError.code, EngineError.code, *(error.code for error in EngineError.__subclasses__())}


@dataclass(frozen=True, slots=True)
class Ticking:
    """`since`: the service has watched without a gap from then on. Silence before that was its own."""

    at: datetime
    since: datetime

    @classmethod
    def from_json(cls, stored: Any) -> Ticking | None:
        if not isinstance(stored, dict):
            return None
        return cls(datetime.fromisoformat(stored["at"]), datetime.fromisoformat(stored["since"]))

    def to_json(self) -> dict[str, Any]:
        return {"at": self.at.isoformat(), "since": self.since.isoformat()}


def ticked(before: Ticking | None, now: datetime) -> Ticking:
    """The next state. A gap, or a clock that was set back, begins a new watch."""
    if before is None or not -_MOST_CLOCK_SKEW <= now - before.at <= _LONGEST_GAP:
        return Ticking(now, now)
    return Ticking(max(now, before.at), before.since)


def tick(context: Context, now: datetime) -> list[str]:
    """The ids of the checks that were entered. Two that tick at once enter each check once."""
    configured = context.configured()
    entered = context.queue.enqueue(requests_due(configured, _last_slots(context, configured, now), now), now)
    fault_point(FaultPoint.AFTER_ENQUEUE)
    ids = [entry.id for entry in entered]
    if ids:
        context.bell.ring(EXECUTE, *ids)
    watch = ticked(Ticking.from_json(context.beats.setting(TICKING)), now)
    context.beats.put_setting(TICKING, watch.to_json(), now)
    _notice_silence(context, configured, watch, now)
    if prune.is_due(context, now):
        context.bell.ring(PRUNE)
    return ids


def requests_due(configured: Configured, last_slots: Mapping[str, datetime], now: datetime) -> Iterable[CheckRequest]:
    """`last_slots`: the latest slot that each endpoint was entered for by its present schedule, by endpoint id."""
    for endpoint_id, endpoint in configured.endpoints.items():
        schedule, slots = endpoint.schedule, endpoint.slots
        slot = due(
            slots,
            last_slots.get(endpoint_id),
            now,
            CatchUp(schedule.catch_up),
            key=endpoint_id,
            jitter=schedule.jitter if schedule.cron is None else 0.0,
        )
        if slot is not None:
            yield _request(endpoint, slot, now)


def _load(schedule: Schedule) -> Load | None:
    wanted = schedule.load
    if wanted is None:
        return None
    # Here: a tick that enters no load has no use for what makes one.
    from probes.load.probe import Load

    return Load(wanted.rate, wanted.streams, wanted.sizes)


def _request(endpoint: KnownEndpoint, slot: datetime, now: datetime) -> CheckRequest:
    schedule = endpoint.schedule
    options = CheckOptions(
        probes=tuple(ProbeKind(name) for name in schedule.probes), n=schedule.n, load=_load(schedule)
    )
    end = deadline(endpoint.slots, slot, now)
    if schedule.deadline is not None:
        end = now + timedelta(seconds=schedule.deadline)
    return CheckRequest(
        f"{schedule.id}:{endpoint.record.id}:{slot.isoformat()}",
        endpoint.record.id,
        Trigger.SCHEDULE,
        slot,
        options.to_json(),
        schedule=schedule.id,
        deadline=end,
    )


def _last_slots(context: Context, configured: Configured, now: datetime) -> dict[str, datetime]:
    by_schedule: dict[str, list[str]] = {}
    for endpoint_id, endpoint in configured.endpoints.items():
        by_schedule.setdefault(endpoint.schedule.id, []).append(endpoint_id)
    found: dict[str, datetime] = {}
    for schedule, endpoint_ids in by_schedule.items():
        found |= context.queue.last_slots(schedule, endpoint_ids, now)
    return found


def _notice_silence(context: Context, configured: Configured, watch: Ticking, now: datetime) -> None:
    """Tell the no-data rules of the endpoints that are silent, but for silence that is ours. While we are offline, all
    of it is."""
    seen = connectivity(context)
    if seen is not None and seen.offline_at(now):
        return
    ours: Counter[str] = Counter()
    for endpoint_id, endpoint in configured.endpoints.items():
        rules = configured.rules(endpoint, now)
        rule = rule_for(rules, Watch.NO_DATA, endpoint.labels)
        if rule is None or not _is_silent(rule, watch.since, now):
            continue
        with context.store.sessions.read() as session:
            heard, fault = last_verdict_at(session, endpoint_id, now), our_fault(session, endpoint_id, now)
        quiet_since = max(watch.since, endpoint.record.created_at, heard or watch.since)
        if not _is_silent(rule, quiet_since, now):
            continue
        if fault is not None:
            ours[fault] += 1
            continue
        maintenance = configured.in_maintenance(endpoint, now)
        context.alerts.apply(endpoint_id, endpoint.labels, [Tick(now, quiet_since, maintenance)], rules, at=now)
    _tell_of_ours({fault: count for fault, count in ours.items() if fault not in _TOLD}, context, now)


def _tell_of_ours(faults: Mapping[str, int], context: Context, now: datetime) -> None:
    """Once a day for each fault, by the number of endpoints that are silent for it."""
    if not faults:
        return
    with context.store.sessions.write() as session:
        for fault, count in sorted(faults.items()):
            reason = f"Nothing is known of {count} endpoints, for a reason on the monitor's side: {fault}."
            key, data = f"silence:{fault}:{now.date().isoformat()}", {"error": fault, "reason": reason}
            record_service_event(session, "monitor.degraded", key, data=data, at=now)


def _is_silent(rule: AlertRule, since: datetime, now: datetime) -> bool:
    return now - since >= rule.no_data_after * rule.every

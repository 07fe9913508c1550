"""The alert machine: one state, one signal and one rule give the next state and its events (SERVICE.md 3.7)."""

from __future__ import annotations

from dataclasses import replace

from monitor.alerts.bearing import Bearing, bearing
from monitor.alerts.core import AlertCore
from monitor.alerts.decide import decided
from monitor.alerts.events import EventKind, Moving, Stepped
from monitor.alerts.rule import AlertRule
from monitor.alerts.signals import Failed, Measured, Signal, Tick, Verdicted
from monitor.alerts.states import AlertState


def step(core: AlertCore | None, signal: Signal, rule: AlertRule) -> Stepped:
    """`core` is the last episode of the alert's fingerprint, open or resolved; None if there never was one.

    A measurement that was applied before, or is older than the last one, changes nothing.
    """
    if isinstance(signal, Verdicted | Failed | Tick):
        return _measured(core, signal, rule)
    return decided(core, signal)


def _measured(core: AlertCore | None, signal: Measured, rule: AlertRule) -> Stepped:
    found = bearing(signal, rule)
    if not _says_something_new(core, signal, rule, found):
        return Stepped(core)
    moving = Moving(core) if core is not None and core.open else _opened(core, signal, rule)
    moving = moving.with_core(_counted(moving.core, signal, rule, found))
    match found:
        case Bearing.GOOD:
            moving = _good(moving, signal, rule)
        case Bearing.BAD:
            moving = _bad(moving, signal, rule)
    return Stepped(moving.core, moving.events)


def _says_something_new(core: AlertCore | None, signal: Measured, rule: AlertRule, found: Bearing) -> bool:
    if found is Bearing.NONE or (core is not None and core.knows(signal)):
        return False
    if core is None or not core.open:
        return found is not Bearing.GOOD
    # Silence that goes on would otherwise change the alert at every tick.
    return not (isinstance(signal, Tick) and core.state is rule.burning)


def _opened(before: AlertCore | None, signal: Measured, rule: AlertRule) -> Moving:
    return Moving.opening(AlertCore.opening(before, rule, signal.at), _told(signal))


def _counted(core: AlertCore, signal: Measured, rule: AlertRule, found: Bearing) -> AlertCore:
    core = core.remembering(signal)
    if found is not Bearing.DOUBTFUL and not signal.maintenance:
        swings = core.swings.seen(bad=found is Bearing.BAD, at=signal.at, every=rule.every)
        core = replace(core, swings=swings)
    match found:
        case Bearing.BAD:
            return replace(core, bad=core.bad + 1, good=0, bad_at=signal.at)
        case Bearing.GOOD:
            return replace(core, bad=0, good=core.good + 1)
    return replace(core, good=0)


def _bad(moving: Moving, signal: Measured, rule: AlertRule) -> Moving:
    moving = _escalated(moving, signal, rule)
    core = moving.core
    if core.state is AlertState.PENDING:
        return _fired(moving, signal, rule) if _is_proven(core, signal, rule) else _suspected(moving, signal)
    if core.state is AlertState.RECOVERING:
        moving = moving.to(rule.burning, EventKind.REFIRED, signal.at, _told(signal))
    if core.flapping:
        return _calm(moving, signal) if _is_calm(core, signal, rule) else moving
    return _flapping(moving, signal) if _flaps(core, signal, rule) else moving


def _is_proven(core: AlertCore, signal: Measured, rule: AlertRule) -> bool:
    """A drift is proven by another check that finds it on fresh prompts, or by what many rounds add up to (DETECTION.md
    2.5)."""
    match signal:
        case Verdicted(proven=True):
            return True
        case Verdicted():
            return signal.fresh and core.suspected_by not in (None, signal.check_id)
        case Failed():
            return core.bad >= rule.error_after
        case Tick():
            return True


def _suspected(moving: Moving, signal: Measured) -> Moving:
    core = moving.core
    if isinstance(signal, Tick) or core.suspected_by is not None:
        return moving
    return moving.with_core(replace(core, suspected_by=signal.check_id, evidence=(signal.check_id,)))


def _fired(moving: Moving, signal: Measured, rule: AlertRule) -> Moving:
    core = moving.core
    if not signal.maintenance:
        core = replace(core, swings=core.swings.turned(signal.at))
    if not isinstance(signal, Tick):
        core = replace(core, evidence=(*core.evidence, signal.check_id))
    flaps = _turn_flaps(core, signal, rule)
    moving = moving.with_core(core).to(
        rule.burning,
        EventKind.FIRED,
        signal.at,
        _told(signal),
        notice=not flaps,
        fired_at=signal.at,
    )
    return _flapping(moving, signal) if flaps else moving


def _escalated(moving: Moving, signal: Measured, rule: AlertRule) -> Moving:
    core = moving.core
    if rule.severity.rank <= core.severity.rank:
        return moving
    reason = f"severity {core.severity.value} before, {rule.severity.value} now"
    moving = moving.to(core.state, EventKind.ESCALATED, signal.at, reason, notice=core.fired, severity=rule.severity)
    if core.acked_at is None:
        return moving
    return moving.to(core.state, EventKind.REOPENED, signal.at, reason, acked_at=None, acked_by=None)


def _good(moving: Moving, signal: Measured, rule: AlertRule) -> Moving:
    state = moving.core.state
    if state is AlertState.PENDING:
        reason = f"not confirmed: {_told(signal)}"
        return moving.to(AlertState.RESOLVED, EventKind.CLOSED, signal.at, reason, resolved_at=signal.at)
    if state is rule.burning:
        moving = moving.to(AlertState.RECOVERING, EventKind.RECOVERING, signal.at, _told(signal))
    return _cleared(moving, signal, rule)


def _cleared(moving: Moving, signal: Measured, rule: AlertRule) -> Moving:
    """Resolved, once it was good for long enough; what flaps stays open until it is calm as well."""
    core = moving.core
    if core.good < rule.clear_for or signal.at - core.bad_at < rule.keep_firing_for * rule.every:
        return _flapping(moving, signal) if not core.flapping and _flaps(core, signal, rule) else moving
    swings = core.swings if signal.maintenance else core.swings.turned(signal.at)
    if core.flapping:
        if not _is_calm(core, signal, rule):
            return moving
        swings = replace(swings, calmed_at=signal.at)
    elif _turn_flaps(replace(core, swings=swings), signal, rule):
        return _flapping(moving, signal)
    return moving.to(
        AlertState.RESOLVED,
        EventKind.RESOLVED,
        signal.at,
        f"good {core.good} times in a row: {_told(signal)}",
        notice=core.fired,
        resolved_at=signal.at,
        flapping=False,
        swings=swings,
    )


def _flaps(core: AlertCore, signal: Measured, rule: AlertRule) -> bool:
    return not signal.maintenance and core.swings.too_many(signal.at, rule.every)


def _turn_flaps(core: AlertCore, signal: Measured, rule: AlertRule) -> bool:
    return _flaps(core, signal, rule) or (not signal.maintenance and core.swings.relapses(signal.at))


def _flapping(moving: Moving, signal: Measured) -> Moving:
    """Said once; the alert stays open until it is calm."""
    swings = moving.core.swings
    reason = f"{len(swings.turns)} times fired or resolved within a day, {len(swings.flips)} changes of late"
    return moving.to(
        moving.core.state,
        EventKind.FLAPPING,
        signal.at,
        reason,
        notice=True,
        flapping=True,
        swings=replace(swings, began_at=signal.at),
    )


def _is_calm(core: AlertCore, signal: Measured, rule: AlertRule) -> bool:
    return not signal.maintenance and core.swings.calm(signal.at, rule.every)


def _calm(moving: Moving, signal: Measured) -> Moving:
    core = moving.core
    swings = replace(core.swings, calmed_at=signal.at)
    reason = f"it keeps on: {_told(signal)}"
    return moving.to(core.state, EventKind.CALM, signal.at, reason, notice=True, flapping=False, swings=swings)


def _told(signal: Measured) -> str:
    match signal:
        case Verdicted():
            return f"{signal.verdict.value} in {signal.metric} by {signal.check_id}"
        case Failed():
            return f"{signal.error_code} in {signal.check_id}"
        case Tick():
            return f"no verdict since {signal.quiet_since:%Y-%m-%d %H:%M} UTC"

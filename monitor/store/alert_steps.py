"""Alerts move here, in the caller's transaction: the machine steps, and its state and events are written together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from monitor.alerts.core import AlertCore
from monitor.alerts.decide import decided
from monitor.alerts.events import Event, EventKind, Stepped
from monitor.alerts.replay import finding_labels, metric_of
from monitor.alerts.rule import AlertRule, Watch, rule_for
from monitor.alerts.signals import BaselineAccepted, Decided, Failed, Measured, RuleChanged, Tick, Verdicted, Widened
from monitor.alerts.step import step
from monitor.errors import StorageError
from monitor.store.alert_rows import Place, finding_of, insert_row, last_good, update_row
from monitor.store.tables import Alert
from monitor.store.vocabulary import AlertState

# Each race that is lost was won by another transaction; one that loses so many is not racing.
MOST_RACES = 20

_WATCHES: dict[type[Measured], tuple[Watch, ...]] = {
    Verdicted: (Watch.DRIFT, Watch.AVAILABILITY, Watch.NO_DATA),
    Failed: (Watch.AVAILABILITY,),
    Tick: (Watch.NO_DATA,),
}


def apply_signals(
    session: Session,
    endpoint_id: str,
    labels: Mapping[str, str],
    signals: Sequence[Measured],
    rules: Sequence[AlertRule],
    at: datetime,
) -> list[str]:
    """Let the alerts of an endpoint take in what was measured, in the order given; the ids of those that changed.

    `labels` are the endpoint's (provider, model and its own), `rules` those of `rules_for`. Alerts whose rule was
    edited since, or whose findings another rule takes now, end first. Signals that come again change nothing.
    """
    changed = dict.fromkeys(end_outdated(session, endpoint_id, labels, rules, at))
    for signal in signals:
        for place in _places(signal, endpoint_id, labels, rules):
            changed |= dict.fromkeys(_measure(session, place, signal, at))
    return list(changed)


def accept_change(session: Session, endpoint_id: str, probe: str, note: str, at: datetime) -> list[str]:
    """A person accepted what an endpoint is now by a probe: its alerts about that are over, whichever of the probe's
    checks they are of; their ids."""
    signal = BaselineAccepted(at, "person", note)
    return list(_decide_all(session, endpoint_id, signal, at, lambda row: row.metric.partition(".")[0] == probe))


def end_outdated(
    session: Session, endpoint_id: str, labels: Mapping[str, str], rules: Sequence[AlertRule], at: datetime
) -> list[str]:
    """End the endpoint's alerts whose rule was edited, removed, or no longer takes their findings; their ids."""

    def outdated(row: Alert) -> bool:
        core = AlertCore.from_json(row.core)
        rule = rule_for(rules, core.watches, finding_labels(labels, row.metric))
        return rule is None or rule.id != row.rule or rule.digest != core.rule

    return list(_decide_all(session, endpoint_id, RuleChanged(at, "config"), at, outdated))


def decide(session: Session, row: Alert, signal: Decided, at: datetime) -> bool:
    """Let a row that this transaction holds take in a decision; whether it changed anything."""
    core = AlertCore.from_json(row.core)
    stepped = decided(core, signal)
    if stepped.core is None or stepped.core == core:
        return False
    return update_row(session, row, stepped, stepped.core, row.finding, at)


def _places(
    signal: Measured, endpoint_id: str, labels: Mapping[str, str], rules: Sequence[AlertRule]
) -> Iterator[Place]:
    for watch in _WATCHES[type(signal)]:
        metric = signal.metric if isinstance(signal, Verdicted) and watch is Watch.DRIFT else ""
        rule = rule_for(rules, watch, finding_labels(labels, metric))
        if rule is not None:
            yield Place(rule, endpoint_id, metric_of(signal, rule), labels)


def _measure(session: Session, place: Place, signal: Measured, at: datetime) -> Iterator[str]:
    """The ids of the alerts that changed; where another transaction was faster, its outcome is stepped on from."""
    for _ in range(MOST_RACES):
        row = _latest(session, place)
        core = None if row is None else AlertCore.from_json(row.core).set_right(signal.at, at)
        stepped = step(core, signal, place.rule)
        if stepped.core is None or stepped.core == core:
            return
        alert_id = _write(session, place, row, stepped, signal, at)
        if alert_id is not None:
            yield alert_id
            if place.rule.watches is Watch.DRIFT and _fires(stepped.events):
                yield from _widen(session, alert_id, place, signal.at, at)
            return
    raise StorageError("An alert changes faster than it can be written.", remedy="Run the check again.")


def _fires(events: Sequence[Event]) -> bool:
    return any(event.kind is EventKind.FIRED for event in events)


def _latest(session: Session, place: Place) -> Alert | None:
    """The open alert of a fingerprint, or the last one that was; held until the transaction ends."""
    query = (
        select(Alert)
        .where(Alert.endpoint_id == place.endpoint_id, Alert.fingerprint == place.fingerprint)
        .order_by((Alert.state == AlertState.RESOLVED), Alert.opened_at.desc(), Alert.id.desc())
        .limit(1)
        .with_for_update()
        .execution_options(populate_existing=True)
    )
    return session.scalars(query).one_or_none()


def _write(
    session: Session, place: Place, row: Alert | None, stepped: Stepped, signal: Measured, at: datetime
) -> str | None:
    """The alert's id; None where another transaction was faster."""
    core = stepped.core
    if core is None:
        return None
    if stepped.opened or row is None:
        found = {"since": last_good(session, place, signal.at), "until": core.opened_at.isoformat()}
        return insert_row(session, place, stepped, core, finding_of(signal, core, found), at)
    return row.id if update_row(session, row, stepped, core, finding_of(signal, core, row.finding), at) else None


def _open_alerts(session: Session, endpoint_id: str) -> Sequence[Alert]:
    query = select(Alert).where(Alert.endpoint_id == endpoint_id, Alert.state != AlertState.RESOLVED)
    held = query.order_by(Alert.id).with_for_update().execution_options(populate_existing=True)
    return session.scalars(held).all()


def _decide_all(
    session: Session, endpoint_id: str, signal: Decided, at: datetime, concerned: Callable[[Alert], bool]
) -> Iterator[str]:
    for row in _open_alerts(session, endpoint_id):
        if concerned(row) and decide(session, row, signal, at):
            yield row.id


def _widen(session: Session, alert_id: str, place: Place, when: datetime, at: datetime) -> Iterator[str]:
    def concerned(row: Alert) -> bool:
        return row.rule == place.rule.id and row.id != alert_id

    return _decide_all(session, place.endpoint_id, Widened(when, place.metric), at, concerned)

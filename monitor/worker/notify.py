"""Hands what happened to the deliveries, and each delivery to a task of its own."""

from __future__ import annotations

from datetime import datetime
from functools import cache

from monitor.alerts.inhibit import Conditions
from monitor.deliveries.dispatch import Dispatch
from monitor.deliveries.facts import AlertFacts
from monitor.deliveries.group import Hold
from monitor.deliveries.routes import Routes
from monitor.fault_points import FaultPoint, fault_point
from monitor.store.alerts import holds_by_id
from monitor.store.process import this_process
from monitor.worker.configured import Configured
from monitor.worker.context import Context
from monitor.worker.names import DELIVER
from monitor.worker.our_faults import our_faults


def fan_out(context: Context, now: datetime) -> None:
    """Everything that is due: steps of alerts into groups, groups into deliveries, and a bell for each delivery."""
    dispatch = _dispatch(context)
    dispatch.fan_out(now)
    fault_point(FaultPoint.AFTER_FAN_OUT)
    dispatch.flush_due(now)
    due = dispatch.due(now)
    if due:
        context.bell.ring(DELIVER, *due)


def deliver(context: Context, delivery_id: str, now: datetime) -> None:
    """Try one delivery; the one that waited behind it may go next."""
    delivered = _dispatch(context).deliver(delivery_id, this_process(), now)
    if delivered is not None and delivered.next_id is not None:
        context.bell.ring(DELIVER, delivered.next_id)


def _dispatch(context: Context) -> Dispatch:
    configured = context.configured()
    entries = {endpoint_id: known.config for endpoint_id, known in configured.endpoints.items()}

    @cache
    def faults(at: datetime) -> Conditions:
        return our_faults(context.store, entries, at)

    def holds(alert: AlertFacts, at: datetime) -> frozenset[Hold]:
        return _holds(context, configured, faults(at), alert, at)

    return Dispatch(
        context.deliveries, Routes.of(configured.config.file), holds=holds, external_url=context.settings.external_url
    )


def _holds(
    context: Context, configured: Configured, ours: Conditions, alert: AlertFacts, at: datetime
) -> frozenset[Hold]:
    """A silence, a maintenance window, or a larger fault that explains the alert."""
    with context.store.sessions.read() as session:
        found = holds_by_id(session, [alert.id], at, configured.config.file.maintenance, ours).get(alert.id)
    if found is None:
        return frozenset()
    told = {Hold.SILENCED: found.silence, Hold.MAINTENANCE: found.maintenance, Hold.INHIBITED: found.inhibitor}
    return frozenset(hold for hold, by in told.items() if by is not None)

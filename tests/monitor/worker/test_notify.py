"""What is told, and what waits because a larger fault explains it."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

from sqlalchemy import select

from monitor import clock
from monitor.alerts.rule import BUILT_IN
from monitor.alerts.signals import Verdicted
from monitor.config import load_config
from monitor.config.objects import objects_of
from monitor.drift.rule import Verdict
from monitor.store.alerts import AlertFilter
from monitor.store.config import ConfigObjects
from monitor.store.keyset import Window
from monitor.store.tables import Delivery, NotifyGroup
from monitor.worker.context import Context
from monitor.worker.notify import fan_out
from monitor.worker.our_faults import entries_by_id, our_faults
from tests.reliability.service import Service

HOUR = timedelta(hours=1)


def configure(service: Service) -> None:
    """A provider, and beside it a control of ours that serves the same model."""
    served = {"model": "smol", "name": "smol"}
    document = {
        "version": 1,
        "models": {"smol": {}},
        "providers": [
            {"slug": "acme", "base_url": "https://api.test/v1", "models": [served]},
            {"slug": "ours", "base_url": "https://own.test/v1", "models": [{**served, "control": True}]},
        ],
        "channels": [{"id": "ops", "url": "https://hooks.test/x", "format": "slack"}],
    }
    file = service.folder / "providers.yaml"
    file.write_text(json.dumps(document))
    ConfigObjects(service.store.sessions).apply(objects_of(load_config(file)), actor="test", at=clock.now())


def drifts(context: Context, provider: str) -> str:
    """The alert of a drift that was found and confirmed."""
    now = clock.now()
    known = context.configured().endpoints
    endpoint_id = next(key for key, one in known.items() if one.config.provider == provider)
    signals = [Verdicted(f"chk_{n}", now, "logprobs", Verdict.DRIFT, fresh=True) for n in range(2)]
    context.alerts.apply(endpoint_id, known[endpoint_id].labels, signals, BUILT_IN, at=now)
    (alert,) = context.alerts.list(Window(9), AlertFilter(endpoint_id=endpoint_id, open=True)).items
    return alert.id


def told(service: Service) -> set[str]:
    """The alerts that were announced."""
    with service.store.sessions.read() as session:
        groups = session.scalars(select(NotifyGroup.told_firing)).all()
    return {entry.split("@")[0] for group in groups for entry in group}


def shown(context: Context, alert_id: str, at: datetime) -> str | None:
    """What holds an alert back, as pages and commands say it."""
    entries = context.configured().config.all_endpoints()
    faults = our_faults(context.store, entries_by_id(context.store, entries), at)
    return context.alerts.holds([context.alerts.show(alert_id)], at=at, conditions=faults)[alert_id].inhibitor


def test_a_drift_that_a_moved_control_explains_is_told_once_the_control_is_well(service: Service) -> None:
    configure(service)
    with service.context() as context:
        control, held = drifts(context, "ours"), drifts(context, "acme")
        start = clock.now()

        for minutes in (0, 1, 10):
            fan_out(context, start + timedelta(minutes=minutes))
        assert told(service) == {control}
        assert shown(context, held, start) == "control"

        context.alerts.resolve(control, actor="ada", at=clock.now())
        fan_out(context, start + HOUR)
        fan_out(context, start + 2 * HOUR)

        assert told(service) == {held}
        assert service.count(Delivery) == 3

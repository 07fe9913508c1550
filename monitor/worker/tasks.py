"""What a worker does for each message: the tasks of the Celery app, and the context that they share."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from celery import Celery

from monitor import clock
from monitor.settings import Settings
from monitor.worker import names
from monitor.worker.bell import CeleryBell
from monitor.worker.canary import canary
from monitor.worker.context import Context, OneContext
from monitor.worker.execute import execute
from monitor.worker.notify import deliver, fan_out
from monitor.worker.prune import prune
from monitor.worker.slots import Slots, execute_in_slot
from monitor.worker.stop_sign import StopSign
from monitor.worker.sweep import sweep
from monitor.worker.tick import tick
from reference_engine.errors import CodedError

_log = logging.getLogger(__name__)


def add_tasks(app: Celery, settings: Settings, stop: StopSign, queues: Sequence[str], slots: Slots | None) -> None:
    bell = CeleryBell(app)
    one = OneContext(lambda: Context.open(settings, bell, stop))

    def add(name: str, work: Callable[..., object]) -> None:
        def run(task: Any, *ids: str) -> None:
            try:
                context = one.get()
                work(context, *ids)
                context.worked(task.request.hostname, queues)
            except CodedError as error:
                # The database keeps what is to be done, and the bell will be rung again.
                _log.error("%s was not done: %s", name, error.message)

        app.task(run, name=name, bind=True)

    add(names.TICK, lambda context: tick(context, clock.now()))
    add(names.SWEEP, lambda context: sweep(context, clock.now()))
    add(names.EXECUTE, execute if slots is None else partial(execute_in_slot, slots))
    add(names.FAN_OUT, lambda context: fan_out(context, clock.now()))
    add(names.DELIVER, lambda context, delivery_id: deliver(context, delivery_id, clock.now()))
    add(names.PRUNE, lambda context: prune(context, clock.now()))
    add(names.CANARY, canary)

"""The Celery app: its settings, and the fixed times at which beat rings (SERVICE.md 3.3)."""

from __future__ import annotations

from typing import Any

from celery import Celery
from kombu.transport import TRANSPORT_ALIASES

from monitor.settings import Settings
from monitor.worker import names

# By alias, since the URL of a Unix socket (redis+socket://) overrules the transport that an app names.
TRANSPORT_ALIASES.update(dict.fromkeys(("redis", "rediss"), "monitor.worker.broker_transport:Transport"))


def make_app(settings: Settings) -> Celery:
    """All that a process needs which only rings the bell (`CeleryBell(make_app(settings))`, and beat); a worker's
    tasks are added by `add_tasks`. Nothing is connected to yet."""
    app = Celery("monitor", broker=settings.broker, set_as_current=False)
    most_memory = settings.worker_max_memory_mb * 1024
    app.conf.update(_SETTINGS, beat_schedule=_beat_schedule(settings), worker_max_memory_per_child=most_memory)
    return app


_SETTINGS: dict[str, Any] = {
    "accept_content": ["json"],
    "beat_scheduler": "celery.beat:Scheduler",  # keeps no file: our schedules are in the database
    "broker_connection_retry_on_startup": True,
    "broker_connection_timeout": 4.0,
    "broker_transport_options": {
        "global_keyprefix": "mon:",
        "health_check_interval": 25,
        "queue_order_strategy": "priority",
        "socket_keepalive": True,
        "unacked_restore_interval": 5,
        "unacked_restore_throttle": 1,
        "visibility_timeout": 900,
    },
    "enable_utc": True,
    "task_acks_late": True,
    "task_create_missing_queues": False,
    "task_default_queue": names.MAINT_QUEUE,
    "task_ignore_result": True,
    "task_queues": {name: {"exchange": name, "routing_key": name} for name in names.QUEUES},
    "task_reject_on_worker_lost": True,
    "task_routes": {task: {"queue": queue} for task, queue in names.QUEUE_OF.items()},
    "task_serializer": "json",
    "task_soft_time_limit": 570,
    "task_time_limit": 600,
    "worker_cancel_long_running_tasks_on_connection_loss": True,
    "worker_enable_remote_control": True,
    "worker_hijack_root_logger": False,
    "worker_max_tasks_per_child": 500,
    "worker_prefetch_multiplier": 1,
    "worker_redirect_stdouts": False,
    "worker_send_task_events": False,
    "worker_soft_shutdown_timeout": 30.0,
}


def _beat_schedule(settings: Settings) -> dict[str, Any]:
    """A bell that nobody heard in time is worth nothing: the next one is near."""
    seconds = {
        names.TICK: settings.tick_seconds,
        names.SWEEP: settings.sweep_seconds,
        names.FAN_OUT: settings.tick_seconds,
        names.CANARY: settings.canary_seconds,
    }
    return {
        task: {
            "task": task,
            "schedule": every,
            "options": {"queue": names.QUEUE_OF[task], "expires": max(1.0, every), "ignore_result": True},
        }
        for task, every in seconds.items()
    }

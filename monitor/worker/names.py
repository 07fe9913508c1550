"""The names of tasks and queues, as messages carry them."""

from __future__ import annotations

TICK = "monitor.tick"
SWEEP = "monitor.sweep"
EXECUTE = "monitor.execute_check"
FAN_OUT = "monitor.fan_out"
DELIVER = "monitor.deliver"
PRUNE = "monitor.prune"
CANARY = "monitor.canary"

PROBE_QUEUE = "probe"
EVAL_QUEUE = "eval"
NOTIFY_QUEUE = "notify"
MAINT_QUEUE = "maint"
# A worker that has all of them takes a notice before anything else.
QUEUES = (NOTIFY_QUEUE, MAINT_QUEUE, PROBE_QUEUE, EVAL_QUEUE)

QUEUE_OF = {
    EXECUTE: PROBE_QUEUE,
    FAN_OUT: NOTIFY_QUEUE,
    DELIVER: NOTIFY_QUEUE,
    TICK: MAINT_QUEUE,
    SWEEP: MAINT_QUEUE,
    PRUNE: MAINT_QUEUE,
    CANARY: MAINT_QUEUE,
}

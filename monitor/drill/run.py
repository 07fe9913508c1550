"""The drill itself: enrol an endpoint, change its stack, and follow the drift until the channels have taken it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from monitor import clock
from monitor.check.options import CheckOptions
from monitor.deliveries.facts import Finding
from monitor.deliveries.notice import NoticeType
from monitor.drift.rule import Verdict
from monitor.drill.channels import Chosen, reachable
from monitor.drill.installation import NAME, BellAtHome, drill_installation
from monitor.drill.step import EXIT_NOT_PROVEN, EXIT_NOT_TAKEN, Step
from monitor.local_endpoint import LocalEndpoint
from monitor.store import CheckEntry, CheckRequest, Trigger
from monitor.store.alerts import AlertFilter, AlertRecord
from monitor.store.delivery_records import DeliveryEntry
from monitor.store.keyset import Window
from monitor.store.vocabulary import AlertState, DeliveryStatus
from monitor.worker.context import Context
from monitor.worker.names import FAN_OUT
from probes.plan import ProbeKind

# Enough here, where repeats do not differ.
N = 20
BEFORE, AFTER = "bf16", "w4-g64"
# A receiver that fails is tried again after about five seconds.
_PATIENCE_S = 30.0
_LOOK_EVERY_S = 0.2
_MOST = 1000

Tell = Callable[[Step], None]


def run_drill(folder: Path, channels: Chosen, tell: Tell) -> None:
    """`folder` is empty, and may be removed afterwards; `tell` hears of every step. Raises MonitorError or EngineError
    where there can be no drill."""
    with ExitStack() as open_things:
        chosen = open_things.enter_context(reachable(channels, folder))
        local = open_things.enter_context(LocalEndpoint(folder / "endpoint.log"))
        context, bell = open_things.enter_context(drill_installation(folder, local.base_url, chosen))
        drill = _Drill(context, bell, chosen, local, tell)
        try:
            drill.run()
        except _GoneWrongError as wrong:
            drill.tell(wrong.step, wrong.told, EXIT_NOT_PROVEN)


class _GoneWrongError(Exception):
    """The drill ends here: `step` did not come to what it must."""

    def __init__(self, step: str, told: str) -> None:
        super().__init__(told)
        self.step = step
        self.told = told


class _Drill:
    def __init__(self, context: Context, bell: BellAtHome, channels: Chosen, local: LocalEndpoint, tell: Tell) -> None:
        self._context = context
        self._bell = bell
        self._channels = channels
        self._local = local
        self._tell = tell
        self._began = clock.monotonic()

    def tell(self, name: str, told: str, exit_code: int = 0) -> None:
        self._tell(Step(name, clock.now(), clock.monotonic() - self._began, told, exit_code))

    def run(self) -> None:
        """Raises _GoneWrongError where no alert fires."""
        for channel in sorted(self._channels.off & set(self._channels.ids)):
            self.tell("channel", f"{channel}: the service has switched it off", EXIT_NOT_TAKEN)
        self._enrol()
        alert = self._drift()
        taken = self._deliver(NoticeType.FIRING, "delivered", self._channels.ids)
        self._context.alerts.resolve(alert.id, actor=NAME, note="The drill is over.", at=clock.now())
        self._deliver(NoticeType.RESOLVED, "resolved", taken)

    def _enrol(self) -> None:
        self._serve(BEFORE)
        entry = self._check("before")
        if not entry.enrolled:
            raise _GoneWrongError("enrolled", _outcome(entry))
        self.tell("enrolled", f"{entry.done} requests, check {entry.id}")

    def _drift(self) -> AlertRecord:
        """The alert that two checks made fire."""
        self._serve(AFTER)
        entry = self._check("after")
        if entry.verdict is not Verdict.DRIFT:
            raise _GoneWrongError("drift", _outcome(entry))
        self.tell("drift", f"found by check {entry.id}")
        self._bell.work_off(self._context)
        alerts = self._context.alerts.list(Window(1), AlertFilter(state=AlertState.FIRING)).items
        if not alerts:
            raise _GoneWrongError("confirmed", "the second check did not confirm it")
        self.tell("confirmed", f"by a second check on other prompts{_looks(alerts[0])}; alert {alerts[0].id} is firing")
        return alerts[0]

    def _serve(self, profile: str) -> None:
        self._local.serve(("--profile", profile))
        self.tell("serving", f"{profile} at {self._local.base_url}")

    def _check(self, key: str) -> CheckEntry:
        """Enter a check into the queue and make it; what it leads to is rung for, and not done yet."""
        (endpoint_id,) = self._context.configured().endpoints
        now = clock.now()
        options = CheckOptions(probes=(ProbeKind.LOGPROBS, ProbeKind.ACCOUNTING), n=N)
        request = CheckRequest(f"{NAME}:{key}", endpoint_id, Trigger.API, now, options.to_json())
        (entry,) = self._context.queue.enqueue([request], now)
        self._bell.make(self._context, entry.id)
        return self._context.queue.entry(entry.id)

    def _deliver(self, kind: NoticeType, step: str, channels: Sequence[str]) -> list[str]:
        """The channels that took the message, of those that it is for."""
        waiting, until = list(channels), clock.monotonic() + _PATIENCE_S
        while waiting and clock.monotonic() < until:
            self._bell.ring(FAN_OUT)
            self._bell.work_off(self._context)
            sent = self._sent(kind)
            for channel in [one for one in waiting if _is_taken(sent.get(one))]:
                waiting.remove(channel)
                self.tell(step, f"{channel} took {kind.value} {sent[channel].id}")
            time.sleep(_LOOK_EVERY_S if waiting else 0.0)
        for channel in waiting:
            self.tell(step, f"{channel} did not take {kind.value}: {_fault(sent.get(channel))}", EXIT_NOT_TAKEN)
        return [channel for channel in channels if channel not in waiting]

    def _sent(self, kind: NoticeType) -> Mapping[str, DeliveryEntry]:
        """The message of this kind to each channel, so far."""
        entries = self._context.deliveries.page(Window(_MOST)).items
        return {entry.channel: entry for entry in entries if entry.type == kind.value}


def _outcome(entry: CheckEntry) -> str:
    came_to = entry.error or (entry.verdict.value if entry.verdict is not None else "no verdict")
    return f"check {entry.id} came to {entry.status.value}: {came_to}"


def _looks(alert: AlertRecord) -> str:
    causes = Finding.of(alert.finding).causes
    return f": it looks like {causes[0][0]}" if causes else ""


def _is_taken(entry: DeliveryEntry | None) -> bool:
    return entry is not None and entry.status is DeliveryStatus.DELIVERED


def _fault(entry: DeliveryEntry | None) -> str:
    if entry is None:
        return "nothing was sent"
    return entry.error or f"it is {entry.status.value} after {entry.attempts} tries"

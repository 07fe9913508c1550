"""Keeps the children of `monitor up` running, and ends them all when it ends itself."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Sequence
from selectors import EVENT_READ, DefaultSelector
from subprocess import SubprocessError

from monitor import clock
from monitor.errors import ServiceFailedError
from monitor.service.child import Child, Process
from monitor.service.relay import OWN_NAME, Form, Relay, Write
from monitor.service.restarts import MOST_FAILURES, WINDOW_S, Restarts
from monitor.service.wakeups import Wakeups

# A worker puts its checks down within 30 s.
STOP_S = 33.0
_READY_POLL_S = 0.05
_STEADY_S = 60.0


class _Kept:
    """A child with its process, if it runs, and its failures."""

    def __init__(self, child: Child, relay: Relay) -> None:
        self.child = child
        self.relay = relay
        self.process: Process | None = None
        self.ready = False
        self.restarts = Restarts()


class Supervisor:
    """`on_hangup` is called on SIGHUP, between two looks at the children."""

    def __init__(self, children: Sequence[Child], *, on_hangup: Callable[[], None], form: Form, write: Write) -> None:
        self._form = form
        self._write = write
        self._on_hangup = on_hangup
        self._kept = [_Kept(child, Relay(child.name, form, write)) for child in children]
        self._selector = DefaultSelector()
        self._stops_asked = 0

    def run(self) -> None:
        """Returns after SIGTERM or SIGINT, when every child has ended.

        Raises ServiceFailedError, when the others have ended, where a child cannot be kept running.
        """
        with Wakeups() as wakeups:
            self._selector.register(wakeups.reader, EVENT_READ, lambda: self._heed(wakeups.read()))
            try:
                while not self._stops_asked:
                    now = clock.monotonic()
                    self._restart_ended(now)
                    self._start_due(now)
                    self._wait(self._until_next(now))
            finally:
                self._stop()
                self._selector.close()

    def say(self, text: str) -> None:
        self._write(self._form(OWN_NAME, text) + "\n")

    def _heed(self, signals: Iterable[int]) -> None:
        for number in signals:
            if number in (signal.SIGTERM, signal.SIGINT):
                self._stops_asked += 1
            elif number == signal.SIGHUP and not self._stops_asked:
                self._on_hangup()

    def _start_due(self, now: float) -> None:
        """Start what is not running, stage by stage: each waits until the one before is ready."""
        for stage in sorted({kept.child.stage for kept in self._kept}):
            members = [kept for kept in self._kept if kept.child.stage == stage]
            for kept in members:
                if kept.process is None and kept.restarts.start_at <= now:
                    self._start(kept, now)
                kept.ready = kept.process is not None and (kept.ready or kept.child.ready())
            if not all(kept.ready for kept in members):
                return

    def _start(self, kept: _Kept, now: float) -> None:
        try:
            kept.process = process = Process(kept.child)
        except (OSError, SubprocessError) as error:
            self._failed(kept, f"could not be started ({error})", now)
            return
        self._selector.register(process.pipe, EVENT_READ, lambda: self._relay(kept.relay, process))

    def _relay(self, relay: Relay, process: Process) -> None:
        piece = process.read()
        if piece:
            relay.feed(piece)
        elif piece is not None:
            self._selector.unregister(process.pipe)

    def _restart_ended(self, now: float) -> None:
        for kept, process in self._running():
            if not process.ended():
                continue
            self._failed(kept, f"ended with {self._bury(kept, process)}", now)

    def _failed(self, kept: _Kept, what: str, now: float) -> None:
        kept.restarts = kept.restarts.ended(now)
        if kept.restarts.hopeless:
            raise ServiceFailedError(
                f"{kept.child.name} failed {MOST_FAILURES} times within {WINDOW_S:.0f} s; last it {what}.",
                remedy="Its last messages say why. `monitor doctor` checks what it needs.",
            )
        self.say(f"{kept.child.name} {what}; again in {kept.restarts.start_at - now:.1f} s")

    def _running(self) -> list[tuple[_Kept, Process]]:
        return [(kept, kept.process) for kept in self._kept if kept.process is not None]

    def _bury(self, kept: _Kept, process: Process) -> str:
        """End what is left of a child's group and pass on its last words; how it ended."""
        how = process.kill()
        while piece := process.read():
            kept.relay.feed(piece)
        kept.relay.close()
        if process.pipe in self._selector.get_map():
            self._selector.unregister(process.pipe)
        process.close()
        kept.process, kept.ready = None, False
        return how

    def _until_next(self, now: float) -> float:
        if any(kept.process is not None and not kept.ready for kept in self._kept):
            return _READY_POLL_S
        # One whose time has come already waits for an earlier stage.
        starts = [kept.restarts.start_at - now for kept in self._kept if kept.process is None]
        return min((wait for wait in starts if wait > 0.0), default=_STEADY_S)

    def _wait(self, seconds: float) -> None:
        for key, _ in self._selector.select(seconds):
            key.data()

    def _stop(self) -> None:
        """Ask the children to end, the last stage first; end those by force that do not, or when asked once more."""
        for stage in sorted({kept.child.stage for kept in self._kept}, reverse=True):
            members = [(kept, process) for kept, process in self._running() if kept.child.stage == stage]
            for _, process in members:
                process.ask_to_end()
            deadline = clock.monotonic() + STOP_S
            while members and self._patient(deadline):
                for kept, process in members:
                    if process.ended():
                        self._bury(kept, process)
                members = [(kept, process) for kept, process in members if kept.process is process]
                if members:
                    self._wait(_READY_POLL_S)
            for kept, process in members:
                self.say(f"{kept.child.name} does not stop; killed")
                self._bury(kept, process)

    def _patient(self, deadline: float) -> bool:
        return self._stops_asked < 2 and clock.monotonic() < deadline

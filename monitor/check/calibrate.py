"""Asks a reference the ambiguous tool-call prompts, as long as there is time: what was answered is kept, whatever ends
it, and is not asked again."""

from __future__ import annotations

from functools import partial

from monitor import clock
from monitor.check.calibrated import Shelf, Shelved, Subject
from monitor.check.options import Progress
from monitor.check.reference_side import Conversing, hear_reference
from probes.plan import Sample
from probes.tools.calibration_record import RUNS, Record
from probes.tools.plan import ToolPlan
from probes.tools.score import score
from reference_engine import EngineError

_SAVED_EVERY = 16


def calibrate(
    engine: Conversing, subject: Subject, shelf: Shelf, progress: Progress, *, within_s: float | None
) -> Shelved:
    """Go on with a calibration, to its end or until the time is up. Raises EngineError."""
    ends = None if within_s is None else clock.monotonic() + within_s
    shelved = shelf.take_down()
    while (run := shelved.record.run_at_hand(subject.cases)) is not None:
        left_s = None if ends is None else ends - clock.monotonic()
        if left_s is not None and left_s <= 0:
            break
        record = shelved.record
        plan = record.plan(run, subject.cases, seed=subject.seed)
        progress.begin(len(plan.plan.items), f"reference: {RUNS[run]} run")
        asking = _Asking(plan, run, record, shelf, progress)
        try:
            hear_reference(engine, subject.profile, plan.plan, asking.take, sends_for_s=left_s)
        except EngineError:
            # A few that are left may all be of those that nobody can answer.
            if record.run_at_hand(subject.cases) == run:
                raise
        finally:
            shelved = shelf.put(record)
    return shelved


class _Asking:
    """One stretch of a run: takes its answers, and saves them now and then."""

    def __init__(self, plan: ToolPlan, run: int, record: Record, shelf: Shelf, progress: Progress) -> None:
        self._plan = plan
        self._run = run
        self._record = record
        self._shelf = shelf
        self._told = partial(progress.step, f"reference: {RUNS[run]} run")
        self._unsaved = 0

    def take(self, sample: Sample) -> None:
        case = self._plan.cases[sample.item.key]
        self._record.take(self._run, case.key, sample.item.rep, score(case, sample).called)
        self._told()
        self._unsaved += 1
        if self._unsaved == _SAVED_EVERY:
            self._shelf.put(self._record)
            self._unsaved = 0

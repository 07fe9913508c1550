"""Asks a reference the ambiguous tool-call prompts, as long as there is time, a few at once: what was answered is kept,
whatever ends it, and is not asked again."""

from __future__ import annotations

from functools import partial

from monitor import clock
from monitor.check.calibrated import Shelf, Shelved, Subject
from monitor.check.options import Progress
from monitor.check.reference_side import Conversing, hear_reference
from probes.plan import Plan, Sample
from probes.tools.calibration_piece import Piece
from probes.tools.calibration_record import RUNS, Record
from probes.tools.case import Case
from reference_engine import Address, EngineError, served


def calibrate(
    engine: Conversing, subject: Subject, shelf: Shelf, progress: Progress, *, within_s: float | None
) -> Shelved:
    """Go on with a calibration, to its end or until the time is up. Raises EngineError."""
    ends = None if within_s is None else clock.monotonic() + within_s
    shelved, pace = shelf.take_down(), _Pace(subject.cases, progress)
    with served(engine, profile=subject.profile) as address:
        while (piece := shelved.record.piece(subject.cases, seed=subject.seed)) is not None:
            left_s = None if ends is None else ends - clock.monotonic()
            if left_s is not None and left_s <= 0:
                break
            pace.tell(shelved.record, piece.run)
            news = Record()
            try:
                _ask(address, piece, news, left_s)
            except EngineError:
                # The last few may be prompts that nobody can answer; of more it is the reference that fails.
                if piece.whole or news.empty:
                    news = news.answered()
                    raise
            finally:
                shelved = shelf.put(news)
    return shelved


def _ask(address: Address, piece: Piece, news: Record, sends_for_s: float | None) -> None:
    plan: Plan | None = piece.plan
    while plan is not None:
        cut: list[Sample] = []
        hear_reference(address, plan, partial(_take, piece, news, cut), sends_for_s=sends_for_s)
        plan = piece.again(cut)


def _take(piece: Piece, news: Record, cut: list[Sample], sample: Sample) -> None:
    if piece.settles(sample):
        news.take(piece.run, sample.item.key, sample.item.rep, piece.called(sample))
    else:
        cut.append(sample)


class _Pace:
    """How far a calibration is, and how long its run still takes if it goes on as it did."""

    def __init__(self, cases: list[Case], progress: Progress) -> None:
        self._cases = cases
        self._progress = progress
        self._run: int | None = None
        self._began_at = 0.0
        self._began_with = 0
        self._shown = 0

    def tell(self, record: Record, run: int) -> None:
        settled, of = record.settled(run, self._cases)
        if run != self._run:
            self._run, self._began_at, self._began_with, self._shown = run, clock.monotonic(), settled, 0
            self._progress.begin(of, self._told(record, run, settled, of))
        for _ in range(settled - self._shown):
            self._progress.step(self._told(record, run, settled, of))
        self._shown = settled

    def _told(self, record: Record, run: int, settled: int, of: int) -> str:
        asked = settled - self._began_with
        took = clock.monotonic() - self._began_at
        left = f", about {_minutes(took / asked * (of - settled))} left" if asked else ""
        return f"{RUNS[run]} run, {record.in_doubt()} in doubt{left}"


def _minutes(seconds: float) -> str:
    return f"{max(1, round(seconds / 60))} min"

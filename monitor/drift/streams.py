"""Any stream's state within an epoch: small, of plain values, and the fold of the evidence that was added to it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import reduce
from typing import Self

from monitor.drift.cause import Cause
from monitor.drift.count_stream import CountStream
from monitor.drift.evidence import (
    Combining,
    Counts,
    Evidence,
    ExactP,
    Factors,
    Inapplicable,
    LogLikelihoods,
    Scores,
    Statement,
    StreamKey,
    round_factor,
)
from monitor.drift.levels import DAY, Standing
from monitor.drift.likelihood_stream import LikelihoodStream
from monitor.drift.score_stream import Round, ScoreStream, StreamRule
from monitor.drift.sequential import AverageProcess, PValueProcess, Wealth, calibrated_mean

# Of the states' form; another one is computed anew from observations. 2: a rule says whether its stream may alarm.
STATE_VERSION = 2

Process = ScoreStream | CountStream | Wealth | PValueProcess | AverageProcess | LikelihoodStream


class Closing(StrEnum):
    """Why an epoch ended by itself; a person may end it as well, by accepting what the endpoint is now."""

    EXPIRED = "expired"
    OUR_STACK = "our_stack"  # our engine, a library of it or the detector is another


@dataclass(frozen=True, slots=True)
class Epoch:
    """`stack` is a digest of our engine, its libraries and the detector; evidence of two stacks is never added up."""

    number: int
    opened_at: float
    stack: str

    def ended(self, at: float, stack: str, rule: StreamRule) -> Closing | None:
        if stack != self.stack:
            return Closing.OUR_STACK
        return Closing.EXPIRED if at >= self.opened_at + rule.epoch_days * DAY else None

    def next(self, at: float, stack: str) -> Self:
        return replace(self, number=self.number + 1, opened_at=at, stack=stack)


@dataclass(frozen=True, slots=True)
class StreamState:
    """`process` is chosen by the first evidence; None before, and while nothing but `inapplicable` was said."""

    key: StreamKey
    rule: StreamRule
    epoch: Epoch
    process: Process | None = None
    inapplicable: str | None = None
    version: int = STATE_VERSION

    @property
    def value(self) -> float:
        return 1.0 if self.process is None else self.process.value

    @property
    def calibrated(self) -> bool:
        """Whether its value may be more than shown. That of ranks may not: they take rounds for exchangeable, and reach
        100 in nearly every other stream whose days differ. So do averages, whose runs are held against one baseline:
        what a single run is sure of has to be confirmed. Nor may a likelihood ratio, unless lawful replays showed it.
        """
        match self.process:
            case ScoreStream(bets=bets):
                return bets is not None
            case CountStream(wealth=wealth):
                return wealth is not None
            case LikelihoodStream(calibrated=calibrated):
                return calibrated
            case AverageProcess():
                return False
        return True

    @property
    def shown(self) -> float:
        """What its endpoint may show of its value: of a likelihood ratio that only ranks causes, nothing."""
        return 1.0 if isinstance(self.process, LikelihoodStream) and not self.calibrated else self.value

    @property
    def causes(self) -> tuple[Cause, ...]:
        """By likelihood, where the stream is of likelihoods; best first."""
        return self.process.causes if isinstance(self.process, LikelihoodStream) else ()

    @property
    def why_not(self) -> str | None:
        """Why the detector says nothing of this endpoint; None where it does."""
        if self.inapplicable is not None:
            return self.inapplicable
        if isinstance(self.process, CountStream):
            return self.process.unlawful
        found = self.process.calibration if isinstance(self.process, ScoreStream) else None
        return found.reason if found is not None and found.standing is Standing.TOO_NOISY else None

    def after(self, evidence: Evidence) -> Self:
        """Raises ValueError for evidence of another stream, or of another kind than before."""
        if evidence.stream != self.key:
            raise ValueError(f"evidence of {evidence.stream} was given to {self.key}")
        if isinstance(evidence.says, Inapplicable):
            return replace(self, inapplicable=evidence.says.reason)
        process = started(evidence.says, self.rule) if self.process is None else self.process
        return replace(self, process=_fed(process, evidence), inapplicable=None)

    def renewed(self, epoch: Epoch) -> Self:
        """The next epoch after one that expired: the levels stay, and evidence starts anew."""
        if isinstance(self.process, ScoreStream):
            return replace(self, epoch=epoch, process=self.process.renewed(epoch.opened_at))
        if isinstance(self.process, CountStream):
            return replace(self, epoch=epoch, process=self.process.renewed())
        return replace(self, epoch=epoch, process=None)

    def rebased(self, epoch: Epoch, baseline: Iterable[Round]) -> Self:
        """The next epoch with another baseline. After our own stack changed these are the same rounds, scored by the
        new one: what it sees otherwise is then not taken for the endpoint's drift. After the endpoint changed, the
        rounds since."""
        if isinstance(self.process, ScoreStream):
            process = ScoreStream.with_baseline(self.rule, baseline, epoch.opened_at)
            return replace(self, epoch=epoch, process=process)
        if isinstance(self.process, CountStream) and epoch.stack != self.epoch.stack:
            # What is counted is not our engine's: were its baseline made anew, a drift under way would be taken in.
            return replace(self, epoch=epoch, process=self.process.renewed())
        return replace(self, epoch=epoch, process=None)


def fold(state: StreamState, evidence: Iterable[Evidence]) -> StreamState:
    """In the order in which it was added."""
    return reduce(StreamState.after, evidence, state)


def started(says: Statement, rule: StreamRule) -> Process:
    match says:
        case Scores():
            return ScoreStream.start(rule)
        case Counts() as counts:
            return CountStream.start(counts, rule.horizon)
        case Factors(combining=Combining.MULTIPLY):
            return Wealth(rule.horizon, (0.0,))
        case Factors(combining=Combining.EACH) as each:
            return Wealth(rule.horizon, (0.0,) * len(each.factors))
        case ExactP(combining=Combining.MULTIPLY):
            return PValueProcess.start(rule.horizon)
        case LogLikelihoods():
            return LikelihoodStream.start(says)
        case _:
            return AverageProcess.start(rule.horizon)


def _fed(process: Process, evidence: Evidence) -> Process:
    match process, evidence.says:
        case ScoreStream(), Scores() as says:
            return process.after(Round(evidence.at, says.mean))
        case CountStream(), Counts() as says:
            return process.after(evidence.at, says)
        case Wealth(), Factors(combining=Combining.MULTIPLY) as says:
            return process.times([round_factor(says.factors, says.combining)])
        case Wealth(), Factors(combining=Combining.EACH) as says if len(says.factors) == len(process.bets):
            return process.times(says.factors)
        case PValueProcess(), ExactP(combining=Combining.MULTIPLY) as says:
            return process.after(says.p)
        case LikelihoodStream(), LogLikelihoods() as says:
            return process.after(says)
        case AverageProcess(), Factors(combining=Combining.AVERAGE) as says:
            return process.after(round_factor(says.factors, says.combining))
        case AverageProcess(), ExactP(combining=Combining.AVERAGE) as says:
            return process.after(calibrated_mean(says.p))
    raise ValueError(f"a stream of {type(process).__name__} was given {type(evidence.says).__name__}")

"""What a detector says of one round of one stream: the value that streams are fed with, whatever the probe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from monitor.drift.rule import Verdict

# Here and below: numpy is a tenth of what a web process weighs, and what it shows of evidence needs none.
if TYPE_CHECKING:
    from monitor.drift.candidates import Hypotheses
    from monitor.drift.findings import Finding
    from monitor.drift.observation import FloatArray


class Tier(StrEnum):
    """The kinds of streams (DETECTION.md §2.2); how often each is asked, and what it sees, differs."""

    PROTOCOL = "T0"
    LOGPROBS = "T1"
    BORDER = "T2"
    GREEDY = "T3"
    SAMPLING = "T4"
    DISTRIBUTION = "T5"
    CAPABILITY = "T6"


class StreamKey(NamedTuple):
    """What is watched as one: `probe_set` is the version of what is asked; with other prompts it is another stream."""

    endpoint: str
    tier: Tier
    probe_set: str


class Null(StrEnum):
    """What a factor's mean of at most 1 rests on."""

    LAWFUL_MEAN = "lawful_mean"  # the mean score, given everything before, is at most the lawful level
    EXCHANGEABLE = "exchangeable"  # answers now and before could change places
    REFERENCE = "reference"  # the reference says what each fresh answer may be
    STATED = "stated"  # the endpoint itself says what each answer is drawn from


class Combining(StrEnum):
    """How rounds add up (DETECTION.md §2.5)."""

    MULTIPLY = "multiply"  # each has mean at most 1 given everything before it
    EACH = "each"  # one factor an alternative: each is multiplied over rounds, and the products are averaged
    AVERAGE = "average"  # they share answers: a baseline, or calls


@dataclass(frozen=True, slots=True)
class Scores:
    """Scores in [0, 1], high is bad; their mean is one bet, as they were asked within one round."""

    scores: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.scores or not all(0.0 <= score <= 1.0 for score in self.scores):
            raise ValueError(f"scores are in [0, 1], and at least one: {self.scores}")

    @property
    def mean(self) -> float:
        return sum(self.scores) / len(self.scores)

    @property
    def null(self) -> Null:
        return Null.LAWFUL_MEAN

    @property
    def combining(self) -> Combining:
        """Where there are levels, each round's bet has mean at most 1 given everything before it."""
        return Combining.MULTIPLY


@dataclass(frozen=True, slots=True)
class Counts:
    """Of a round's `of` cases those that were bad, each with the share of its answers that were; and how many, and bad
    ones among them, were asked for the first time. asked: the version of what was asked; rounds of another one have
    another lawful share."""

    bad: tuple[tuple[str, float], ...]
    of: int
    fresh_bad: float
    fresh: int
    asked: str

    def __post_init__(self) -> None:
        are_shares = all(0.0 < share <= 1.0 for _, share in self.bad)
        if not (are_shares and len(self.bad) <= self.of and 0.0 <= self.fresh_bad <= self.fresh <= self.of):
            raise ValueError(f"such counts cannot be: {self}")

    @property
    def null(self) -> Null:
        return Null.LAWFUL_MEAN


@dataclass(frozen=True, slots=True)
class Factors:
    """E-values: nonnegative, of mean at most 1 under `null`."""

    factors: tuple[float, ...]
    null: Null
    combining: Combining

    def __post_init__(self) -> None:
        if not self.factors or not all(factor >= 0.0 for factor in self.factors):
            raise ValueError(f"factors are nonnegative, and at least one: {self.factors}")

    @property
    def average(self) -> float:
        """One e-value: their mean is at most 1 as each one's is."""
        return sum(self.factors) / len(self.factors)

    @property
    def p(self) -> float:
        """1 / E is a p-value (Vovk & Wang 2021)."""
        return min(1.0, 1.0 / self.average) if self.average > 0.0 else 1.0


@dataclass(frozen=True, slots=True)
class ExactP:
    """P(p ≤ u) ≤ u under `null`, for every u."""

    p: float
    null: Null
    combining: Combining

    def __post_init__(self) -> None:
        if not 0.0 < self.p <= 1.0:
            raise ValueError(f"an exact p is in (0, 1], and this is {self.p}")


@dataclass(frozen=True, slots=True)
class LogLikelihoods:
    """Of a round's sampled tokens, each given all before it, in nats: a row a token, a column a hypothesis, candidates
    first. NaN: a candidate's was not computed. What they add up to counts only whole (`candidates`), so that they are
    no factors.

    calibrated: lawful replays showed its mean to be at most 1 (`lawful_replays.counts_toward_alarms`), which is decided
    without this stream's tokens. Otherwise it ranks causes and alarms nobody.
    """

    hypotheses: Hypotheses
    rows: tuple[tuple[float, ...], ...]
    calibrated: bool = False

    def __post_init__(self) -> None:
        from monitor.drift.candidates import checked

        columns = len(self.hypotheses.candidates) + len(self.hypotheses.allowed)
        wrong = next((len(row) for row in self.rows if len(row) != columns), None)
        if not self.rows or wrong is not None:
            found = "no token has any" if wrong is None else f"one has {wrong}"
            raise ValueError(f"log-likelihoods of {columns} hypotheses a token are needed, and {found}")
        checked(self.hypotheses, self.values, 2)

    @property
    def values(self) -> FloatArray:
        """Shape [tokens, candidates + allowed]."""
        import numpy as np

        return np.array(self.rows, dtype=np.float64)

    @property
    def null(self) -> Null:
        return Null.REFERENCE


@dataclass(frozen=True, slots=True)
class Inapplicable:
    """Nothing can be said by this detector of this endpoint; never a pass."""

    reason: str


@dataclass(frozen=True, slots=True)
class NotYet:
    """A detector cannot begin: more answers are to come, or later ones. Not said of a round."""

    reason: str


Statement = Scores | Counts | Factors | ExactP | LogLikelihoods | Inapplicable


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was found at `at`, seconds since 1970, from `n` answers that cost `tokens`. `reasons` are for people."""

    stream: StreamKey
    at: float
    says: Statement
    n: int = 0
    tokens: int = 0
    reasons: tuple[str, ...] = ()


def of_finding(stream: StreamKey, at: float, finding: Finding, tokens: int) -> Evidence | None:
    """A run-level finding as evidence of its stream; None where it has no p yet, as without a baseline.

    Its p is of one run against a baseline that all runs share, so rounds are averaged.
    """
    reasons = (finding.reason,) if finding.reason else ()
    if finding.verdict is Verdict.INAPPLICABLE:
        return Evidence(stream, at, Inapplicable(finding.reason), finding.n, tokens)
    p = finding.adjusted_p if finding.p is None else finding.p
    if p is None:
        return None
    return Evidence(stream, at, ExactP(p, Null.EXCHANGEABLE, Combining.AVERAGE), finding.n, tokens, reasons)


def round_factor(factors: Sequence[float], combining: Combining) -> float:
    """A round's factors as one."""
    if combining is not Combining.MULTIPLY:
        return sum(factors) / len(factors)
    product = 1.0
    for factor in factors:
        product *= factor
    return product

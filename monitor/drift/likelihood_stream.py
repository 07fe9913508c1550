"""A stream of log-likelihoods: one E over all its tokens so far, which proves something only where replays showed that
it may, and ranks causes in any case.

The fold of `after` over rounds in the order they were added, to the last bit, however tokens are dealt to rounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

# Here and below: numpy is a tenth of what a web process weighs, which shows streams and folds none.
if TYPE_CHECKING:
    from monitor.drift.candidates import LikelihoodRatio
    from monitor.drift.cause import Cause
    from monitor.drift.evidence import LogLikelihoods


@dataclass(frozen=True, slots=True)
class LikelihoodStream:
    """`ratio` is that of all tokens, allowed hypotheses maximised anew after each (universal inference; Wasserman,
    Ramdas & Balakrishnan 2020). `calibrated` only while every round said so: what began as a ranking does not become a
    proof within an epoch, when one has seen how large it is."""

    ratio: LikelihoodRatio
    calibrated: bool

    @classmethod
    def start(cls, says: LogLikelihoods) -> Self:
        """Before its first round."""
        from monitor.drift.candidates import LikelihoodRatio

        return cls(LikelihoodRatio.start(says.hypotheses), says.calibrated)

    @property
    def value(self) -> float:
        return self.ratio.value

    @property
    def causes(self) -> tuple[Cause, ...]:
        """Candidates, and that nothing changed, by their share of belief."""
        return self.ratio.belief()

    def after(self, says: LogLikelihoods) -> Self:
        """Raises ValueError for other hypotheses: the null and the bets stay as they are for an epoch."""
        if says.hypotheses != self.ratio.hypotheses:
            raise ValueError(
                f"a likelihood ratio of {self.ratio.hypotheses} was given log-likelihoods of {says.hypotheses}; "
                "other hypotheses need an epoch of their own"
            )
        return type(self)(self.ratio.after(says.values), self.calibrated and says.calibrated)

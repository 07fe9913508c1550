"""An endpoint's E over time as a chart's content: its path, where epochs begin, and when a change did."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from dashboards.chart import Mark, within
from dashboards.numbers import minute
from monitor.drift.decision import DRIFT_AT, SHOWN_AT, SUSPECT_AT
from monitor.render.streams import worth_text
from monitor.store.series import Span

NAME = "evidence"
PROOF_LETTER = "D"
LINES = ((SHOWN_AT, "shown"), (SUSPECT_AT, "suspect"), (DRIFT_AT, "drift"))


@dataclass(frozen=True, slots=True)
class Step:
    """E from a look on; `value` counts the streams without levels as well."""

    at: datetime
    epoch: int
    worth: float
    value: float


@dataclass(frozen=True, slots=True)
class Begin:
    """Where an epoch begins, with E at 1."""

    at: datetime
    number: int


@dataclass(frozen=True, slots=True)
class Change:
    """The time in which a change began, as its onset tells it."""

    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class EvidenceChart:
    """`looks` is how many there were, where the path has been thinned; `proofs` are when drift was proven."""

    span: Span
    steps: tuple[Step, ...]
    looks: int = 0
    epochs: tuple[Begin, ...] = ()
    proofs: tuple[datetime, ...] = ()
    change: Change | None = None

    @property
    def digest(self) -> str:
        """Of all that can be seen."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:24]

    @property
    def marks(self) -> tuple[Mark, ...]:
        begins = (Mark(epoch.at, str(epoch.number), alert=False) for epoch in self.epochs)
        proofs = (Mark(at, PROOF_LETTER, alert=True) for at in self.proofs)
        return within((*begins, *proofs), self.span)

    @property
    def caption(self) -> str:
        """The finding in words, for those who do not see the chart."""
        return " ".join(self._sentences())

    def _sentences(self) -> Iterator[str]:
        if not self.steps:
            yield "Nothing was added in this time."
            return
        last, most = self.steps[-1].worth, max(step.worth for step in self.steps)
        yield f"E was {worth_text(last)} last, {reached(last)}."
        count = max(self.looks, len(self.steps))
        if count > 1:
            yield f"The highest of {count} looks was {worth_text(most)}."
        if self.change is not None:
            yield f"The change began between {minute(self.change.start)} and {minute(self.change.end)} UTC."


def reached(worth: float) -> str:
    """`below 20, from which on it is shown`, `beyond 100: suspect`."""
    passed = [line for line in LINES if worth >= line[0]]
    if not passed:
        return f"below {SHOWN_AT:g}, from which on it is shown"
    at, word = passed[-1]
    return f"beyond {at:,.0f}: {word}"

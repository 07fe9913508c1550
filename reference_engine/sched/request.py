"""A request as the scheduler sees it: token ids, pages, and counters that say how far it has come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import InitVar, dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from reference_engine.forward.batch import PAGE, Page
from reference_engine.sched.pace import Pace

if TYPE_CHECKING:
    from reference_engine.sched.plan import Entry


class State(Enum):
    WAITING = "waiting"
    RUNNING = "running"
    FINISHED = "finished"


def pages_for(tokens: int) -> int:
    return -(-tokens // PAGE)


@dataclass(slots=True, weakref_slot=True, eq=False)
class Request:
    """Wants the distributions at positions `start` … `len(prompt)`, and then up to `max_tokens` generated tokens.

    The distribution at a position is read from the row before it. Without `start` only the one after the prompt is
    wanted; `max_tokens` 0 is a scoring request.

        0 ─────── computed ─────── next_row ─────── length
          written          in flight        to be planned

    known          prompt and generated tokens
    computed       tokens whose keys and values were written by passes that have ended
    in_flight      rows in plans that are not committed, at most; next_row = computed + in_flight
    pending        tokens that those plans will sample, at most; length = len(known) + pending
    drafts         whether tokens may be drafted for it, and `pace` how many at a time
    readable_from  the first row whose distribution is still wanted: a hit of the prefix cache must stop before it.
                   Whoever has answers for the first rows (cached log-probabilities) may raise it before `add`

    While drafted tokens are verified, in_flight and pending are what they are if all prove right: the next row can be
    planned meanwhile, and begins where it must once that is known.

    Always: 0 ≤ computed ≤ len(known); next_row ≤ length; next_row ≤ most_rows;
    pages cover next_row; computed ≤ readable_from < len(known) while something is to be read.
    """

    id: str
    prompt: InitVar[Sequence[int]]
    start: InitVar[int | None] = None
    max_tokens: int = 0
    priority: int = 0
    drafts: bool = True
    arrival: int = -1
    known: list[int] = field(init=False)
    prompt_length: int = field(init=False)
    readable_from: int = field(init=False)
    state: State = State.WAITING
    computed: int = 0
    in_flight: int = 0
    pending: int = 0
    pace: Pace = field(default_factory=Pace)
    pages: list[Page] = field(default_factory=list)

    def __post_init__(self, prompt: Sequence[int], start: int | None) -> None:
        self.known = list(prompt)
        self.prompt_length = len(self.known)
        self.readable_from = max((self.prompt_length if start is None else start) - 1, 0)
        if self.readable_from >= self.prompt_length:
            raise ValueError(f"Request {self.id}: no row gives position {start} of {self.prompt_length} tokens.")

    @property
    def urgency(self) -> tuple[int, int]:
        """Ascending: the most urgent first."""
        return -self.priority, self.arrival

    @property
    def generated(self) -> int:
        return len(self.known) - self.prompt_length

    @property
    def next_row(self) -> int:
        return self.computed + self.in_flight

    @property
    def length(self) -> int:
        return len(self.known) + self.pending

    @property
    def most_rows(self) -> int:
        """Rows at the very most: the last generated token is never run."""
        return self.prompt_length + max(self.max_tokens - 1, 0)

    @property
    def remaining(self) -> int:
        """Rows that could be planned now."""
        return min(self.length, self.most_rows) - self.next_row

    @property
    def complete(self) -> bool:
        if self.max_tokens:
            return self.generated == self.max_tokens
        return self.computed == self.prompt_length

    def admitted(self, computed: int, pages: list[Page]) -> None:
        self.state, self.computed, self.pages = State.RUNNING, computed, pages

    def planned(self, entry: Entry) -> None:
        self.in_flight += entry.most_rows
        self.pending += entry.most_sampled

    def committed(self, entry: Entry, tokens: Sequence[int]) -> None:
        """Rows of rejected drafts leave keys and values behind `computed` that are overwritten before they are read.

        A finished request gets no tokens; a row may then have run an unknown token, or follow rows that failed.
        """
        self.landed(entry)
        self.known += tokens
        if entry.start == self.computed:
            self.computed = min(self.computed + entry.count + max(len(tokens) - 1, 0), len(self.known))
        self.readable_from = max(self.readable_from, self.computed)

    def landed(self, entry: Entry) -> None:
        self.in_flight -= entry.most_rows
        self.pending -= entry.most_sampled

    def forget_computed(self) -> None:
        self.computed = 0

    def forget_pages(self) -> None:
        self.computed, self.pages = 0, []

    def broken_rules(self) -> list[str]:
        """The invariants above that do not hold."""
        lives, waits = self.state is not State.FINISHED, self.state is State.WAITING
        rules = {
            "computed lies within known": 0 <= self.computed <= len(self.known),
            "in flight and pending are no debts": self.in_flight >= 0 and self.pending >= 0,
            "no row is planned of a token that is not there": self.next_row <= self.length,
            "no row is planned beyond the last one": self.next_row <= self.most_rows,
            "no more tokens are sampled than wanted": self.generated + self.pending <= self.max_tokens,
            "pages cover what is computed or in flight": len(self.pages) * PAGE >= self.next_row,
            "no row that is wanted is skipped": not lives or self.computed <= self.readable_from < len(self.known),
            "who waits has no pages but those in flight": not (waits and self.pages) or self.in_flight > 0,
        }
        return [f"{self.id}: {rule}" for rule, holds in rules.items() if not holds]

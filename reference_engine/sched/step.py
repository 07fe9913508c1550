"""A plan in the making."""

from __future__ import annotations

from dataclasses import dataclass, field

from reference_engine.sched.pages import Copy
from reference_engine.sched.plan import Entry, Plan
from reference_engine.sched.request import Request, pages_for


@dataclass(slots=True)
class Share:
    request: Request
    rows: int
    drafts: int = 0

    @property
    def samples(self) -> bool:
        return self.request.max_tokens > 0 and self.request.next_row + self.rows == self.request.length

    def entry(self) -> Entry:
        request = self.request
        pages = tuple(request.pages[: pages_for(request.next_row + self.rows + self.drafts)])
        return Entry(request, request.next_row, self.rows, request.readable_from, self.samples, self.drafts, pages)


@dataclass(slots=True)
class Step:
    """`left` is what it leaves of the token budget."""

    left: int
    shares: list[Share] = field(default_factory=list)
    copies: list[Copy] = field(default_factory=list)

    def give(self, request: Request, rows: int) -> None:
        self.shares.append(Share(request, rows))
        self.left -= rows

    def take_back(self, request: Request) -> None:
        """Whatever it was given."""
        self.left += sum(share.rows for share in self.shares if share.request is request)
        self.shares = [share for share in self.shares if share.request is not request]

    def plan(self, *, ahead: bool) -> Plan:
        entries = tuple(share.entry() for share in self.shares)
        borrowed = tuple(source for source, _ in self.copies)
        return Plan(entries, tuple(self.copies), borrowed, ahead)

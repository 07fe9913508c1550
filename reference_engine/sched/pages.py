"""Which request holds which pages, and when they go back."""

from __future__ import annotations

from reference_engine.forward.batch import PAGE, Page
from reference_engine.sched.memory import Hit, Memory
from reference_engine.sched.request import Request, pages_for

Copy = tuple[Page, Page]
"""From, to."""


class Pages:
    """`leaving` are requests that have no claim to their pages any more, but rows in a plan in flight.

    Their pages come back with that plan's end and not before: a pass still writes there, and whoever is given a page
    may write to it at once (another sub-pool of the arena does).
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self.leaving: set[Request] = set()

    def fits(self, request: Request, at_once: int) -> bool:
        """Whether it would have enough pages alone, with so many rows in a pass."""
        return self._memory.fits(request.most_rows, at_once)

    def admit(self, request: Request, most_rows: int, *, alone: bool) -> list[Copy] | None:
        """Pages for all known tokens, those of the longest known prefix among them, and for the first rows; None and no
        page if there are not enough. Gives the copies to make: who goes on inside a page that others use does so in a
        copy. The source stays referenced."""
        hit = self._memory.match(request.known[: request.readable_from])
        copies = self._begin(request, hit, most_rows)
        if copies is None and hit.length % PAGE:
            # The source of the copy is itself a page that may be wanting.
            hit = self._memory.shorten(hit)
            copies = self._begin(request, hit, most_rows)
        if copies is None:
            self._memory.release(hit.pages)
            if alone and hit.pages:
                # Its own cells may lie about in frames that other layers need.
                copies = self._begin(request, Hit(0, ()), most_rows)
        return copies

    def grow(self, request: Request, rows: int) -> bool:
        """Pages for the next rows, if there are enough."""
        end = request.next_row + rows
        return self._memory.cover(request.pages, end, range(request.next_row, end))

    def others_hold(self) -> bool:
        """Once `grow` was refused: whether others than the requests here hold pages."""
        return self._memory.others_hold()

    def keep(self, request: Request) -> None:
        """Tells the prefix tree what is computed."""
        if request.computed:
            self._memory.keep(request.known[: request.computed], request.pages[: pages_for(request.computed)])

    def leave(self, request: Request) -> None:
        """Gives all pages back, now or when no plan in flight has rows in them."""
        if not request.in_flight:
            self._give_back(request)
        else:
            self.leaving.add(request)

    def landed(self, request: Request) -> None:
        """Its rows of a plan are not in flight any more."""
        if request not in self.leaving:
            self._give_up_passed(request)
        elif not request.in_flight:
            self.leaving.remove(request)
            self._give_back(request)

    def release(self, borrowed: tuple[Page, ...]) -> None:
        self._memory.release(borrowed)

    def _begin(self, request: Request, hit: Hit, most_rows: int) -> list[Copy] | None:
        shared = hit.length // PAGE
        table = list(hit.pages[:shared])
        known = len(request.known)
        if not self._memory.cover(table, known, range(hit.length, min(hit.length + most_rows, known))):
            return None
        request.admitted(hit.length, table)
        return list(zip(hit.pages[shared:], table[shared:], strict=False))

    def _give_up_passed(self, request: Request) -> None:
        """Of what no row to come looks at, only the prefix tree has something, as long as there is room."""
        if self._memory.has_passed(request.pages, request.computed):
            self.keep(request)
            self._memory.give_up_passed(request.pages, request.computed)

    def _give_back(self, request: Request) -> None:
        self.keep(request)
        self._memory.release(request.pages)
        request.forget_pages()

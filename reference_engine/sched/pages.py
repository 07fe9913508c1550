"""Which request holds which pages, and when they go back."""

from __future__ import annotations

from reference_engine.forward.batch import PAGE
from reference_engine.sched.memory import Hit, Memory
from reference_engine.sched.request import Request, pages_for


class Pages:
    """`leaving` are requests that have no claim to their pages any more, but rows in a plan in flight.

    Their pages come back with that plan's end and not before: a pass still writes there, and whoever is given a page
    may write to it at once (another sub-pool of the arena does).
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self.leaving: set[Request] = set()

    @property
    def capacity(self) -> int:
        return self._memory.capacity

    def admit(self, request: Request) -> list[tuple[int, int]] | None:
        """Pages for all known tokens, those of the longest known prefix among them; None and no page if there are not
        enough. Gives the copies (source, target) to make: who goes on inside a page that others use does so in a copy.
        The source stays referenced."""
        hit = self._memory.match(request.known[: request.readable_from])
        needed, shared = pages_for(len(request.known)), hit.length // PAGE
        fresh = self._memory.allocate(needed - shared)
        if fresh is None and len(hit.pages) > shared:
            # The source of the copy is itself a page that may be wanting.
            self._memory.release(hit.pages[shared:])
            hit = Hit(shared * PAGE, hit.pages[:shared])
            fresh = self._memory.allocate(needed - shared)
        if fresh is None:
            self._memory.release(hit.pages)
            return None
        request.admitted(hit.length, [*hit.pages[:shared], *fresh])
        return list(zip(hit.pages[shared:], fresh, strict=False))

    def grow(self, request: Request, rows: int) -> bool:
        """Pages for the next rows, if there are enough."""
        missing = pages_for(request.next_row + rows) - len(request.pages)
        fresh = self._memory.allocate(missing) if missing > 0 else []
        request.pages += fresh or []
        return fresh is not None

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
        if request in self.leaving and not request.in_flight:
            self.leaving.remove(request)
            self._give_back(request)

    def release(self, borrowed: tuple[int, ...]) -> None:
        self._memory.release(borrowed)

    def _give_back(self, request: Request) -> None:
        self.keep(request)
        self._memory.release(request.pages)
        request.forget_pages()

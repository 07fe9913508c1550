"""How many tokens are drafted for a request at a time: fewer the less its drafts prove right."""

from __future__ import annotations

from dataclasses import dataclass, replace

_MOST = 64
_LONGEST_PAUSE = 5  # as a power of two


@dataclass(frozen=True, slots=True)
class Pace:
    """A function of what became of the request's own drafts, so that no company changes it.

    `most` tokens are drafted for a pass: twice as many as last time where all of those proved right, and one more than
    did where some. Where none did, the next one is drafted after a pause, twice as long with each miss in a row: a
    drafter that is always wrong soon costs one row in 33 passes.
    """

    length: int = 2
    misses: int = 0
    pause: int = 0

    @property
    def most(self) -> int:
        return 0 if self.pause else self.length

    def rested(self) -> Pace:
        """After a token without drafts."""
        return replace(self, pause=max(self.pause - 1, 0))

    def learned(self, drafted: int, accepted: int) -> Pace:
        """Of `drafted` tokens, one at least."""
        if accepted:
            # The drafter may have had less to say than it was asked for.
            return Pace(min(max(self.length, 2 * drafted), _MOST) if accepted == drafted else accepted + 1)
        return Pace(1, self.misses + 1, 2 ** min(self.misses, _LONGEST_PAUSE))

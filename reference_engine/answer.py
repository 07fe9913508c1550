"""The text of an answer as it grows: whole UTF-8 characters only, and nothing that may turn out to be a stop string."""

from __future__ import annotations

import codecs
from collections.abc import Sequence


class AnswerText:
    """Feed it each token's bytes; it gives back the text that is certain by then.

    `stopped` becomes True when a stop string is complete; the text before it has then been given out, and no more
    comes.
    """

    def __init__(self, stop: Sequence[str]) -> None:
        self._stop = tuple(stop)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""
        self.stopped = False

    def feed(self, piece: bytes) -> str:
        return self._release(self._decoder.decode(piece))

    def finish(self) -> str:
        """The rest: text held back, and U+FFFD for a character that was left incomplete."""
        if self.stopped:
            return ""
        rest = self._release(self._decoder.decode(b"", final=True))
        rest, self._held = rest + self._held, ""
        return rest

    def _release(self, fresh: str) -> str:
        text = self._held + fresh
        found = [at for at in (text.find(stop) for stop in self._stop) if at >= 0]
        if found:
            self.stopped, self._held = True, ""
            return text[: min(found)]
        keep = max((_overlap(text, stop) for stop in self._stop), default=0)
        self._held = text[len(text) - keep :]
        return text[: len(text) - keep]


def _overlap(text: str, stop: str) -> int:
    """The length of the longest end of `text` that `stop` begins with."""
    for length in range(min(len(text), len(stop) - 1), 0, -1):
        if text.endswith(stop[:length]):
            return length
    return 0

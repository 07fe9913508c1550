"""The tokens of one answer, which one thread may read and another close."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

from reference_engine.interface import GeneratedToken


def _nobody() -> None:
    """Nobody can be woken up."""


class TokenStream(Iterator[GeneratedToken]):
    """Closed while a thread waits for the next token, it ends there: at once where `wake` ends the wait, behind the
    step otherwise. The tokens themselves are never closed while they run, which would harm a generator."""

    def __init__(self, tokens: Iterator[GeneratedToken], wake: Callable[[], None] = _nobody) -> None:
        self._tokens = tokens
        self._wake = wake
        self._changing = threading.Lock()
        self._stepping = False
        self._closed = False

    def __next__(self) -> GeneratedToken:
        with self._changing:
            if self._closed:
                raise StopIteration
            self._stepping = True
        try:
            return next(self._tokens)
        finally:
            with self._changing:
                self._stepping = False
                closed_meanwhile = self._closed
            if closed_meanwhile:
                self._end()

    def close(self) -> None:
        with self._changing:
            self._closed, stepping = True, self._stepping
        if stepping:
            self._wake()
        else:
            self._end()

    def _end(self) -> None:
        close = getattr(self._tokens, "close", None)
        if close is not None:
            close()

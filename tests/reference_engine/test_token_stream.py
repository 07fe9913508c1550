"""Tokens that one thread reads and another closes."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from reference_engine.interface import GeneratedToken
from reference_engine.token_stream import TokenStream

TOKEN = GeneratedToken(5, "a", -1.0, ())


class Waiting:
    """Gives what is put into `coming`; `ended` is set when it is closed, and `asked` while it waits."""

    def __init__(self) -> None:
        self.coming: queue.SimpleQueue[GeneratedToken | None] = queue.SimpleQueue()
        self.asked, self.ended = threading.Event(), threading.Event()

    def tokens(self) -> Iterator[GeneratedToken]:
        try:
            while True:
                self.asked.set()
                token = self.coming.get()
                if token is None:
                    return
                yield token
        finally:
            self.ended.set()


def test_closing_wakes_up_who_waits_for_a_token() -> None:
    source = Waiting()
    stream = TokenStream(source.tokens(), lambda: source.coming.put(None))
    with ThreadPoolExecutor(1) as reader:
        reading = reader.submit(next, stream, None)
        assert source.asked.wait(60)

        stream.close()

        assert reading.result(60) is None
    assert source.ended.is_set()
    assert next(stream, None) is None


def test_where_nobody_can_be_woken_it_ends_behind_the_step() -> None:
    source = Waiting()
    stream = TokenStream(source.tokens())
    with ThreadPoolExecutor(1) as reader:
        reading = reader.submit(next, stream, None)
        assert source.asked.wait(60)

        stream.close()
        assert not source.ended.is_set()
        source.coming.put(TOKEN)

        assert reading.result(60) is TOKEN
    assert source.ended.is_set()
    assert next(stream, None) is None


def test_between_two_tokens_it_ends_at_once() -> None:
    source = Waiting()
    source.coming.put(TOKEN)
    stream = TokenStream(source.tokens())
    assert next(stream) is TOKEN

    stream.close()

    assert source.ended.is_set()


def test_tokens_that_need_no_closing_may_be_closed() -> None:
    TokenStream(iter([TOKEN])).close()

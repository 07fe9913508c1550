"""Who uses a model keeps it open."""

from __future__ import annotations

import threading

from reference_engine.server.users import Users


def test_whoever_is_in_is_waited_for_and_nobody_comes_in_meanwhile() -> None:
    users, closed = Users(), threading.Event()
    assert users.enter()

    def close() -> None:
        users.see_off()
        closed.set()

    closing = threading.Thread(target=close)
    closing.start()
    while users.enter():
        users.leave()

    assert not closed.is_set()
    users.leave()
    assert closed.wait(60)
    closing.join()
    assert not users.any

"""Lawful variations of one answer are the same answer, and what an endpoint may say otherwise turns nothing red."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import pytest

from tests.endpoints import hostile
from tests.endpoints.agent import Agent
from tests.endpoints.wire import Wire
from tests.mutation.running import Red, ask, exchanged, red_of, timeless
from tests.mutation.scenes import CALL, LOGPROBS, PAIR, THINK_CALL, Scene
from tests.mutation.variations import EITHER, OTHERWISE, STREAMED, WHOLE

pytestmark = pytest.mark.mutation

VARIED = (PAIR, THINK_CALL, LOGPROBS)


@cache
def unvaried(scene: Scene, stream: bool) -> object:
    return timeless(ask(scene, Wire(), stream=stream))


@pytest.mark.parametrize("scene", VARIED, ids=lambda scene: scene.name)
@pytest.mark.parametrize("name", [*STREAMED, *EITHER])
def test_a_varied_stream_is_the_same_answer(name: str, scene: Scene) -> None:
    varied = ask(scene, {**STREAMED, **EITHER}[name], stream=True)
    assert timeless(varied) == unvaried(scene, True)
    assert red_of(scene, varied) == Red()


@pytest.mark.parametrize("scene", VARIED, ids=lambda scene: scene.name)
@pytest.mark.parametrize("name", [*WHOLE, *EITHER])
def test_a_varied_body_is_the_same_answer(name: str, scene: Scene) -> None:
    varied = ask(scene, {**WHOLE, **EITHER}[name], stream=False)
    assert timeless(varied) == unvaried(scene, False)
    assert red_of(scene, varied) == Red()


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "plain"])
@pytest.mark.parametrize(("scene", "wire"), [pytest.param(scene, wire, id=name) for name, scene, wire in OTHERWISE])
def test_what_may_be_otherwise_turns_nothing_red(scene: Scene, wire: Wire, stream: bool) -> None:
    assert red_of(scene, ask(scene, wire, stream=stream)) == Red()


_AT = "Sun, 29 Nov 2026 12:00:0{} GMT"
IN_THREE_SECONDS: dict[str, dict[str, str]] = {
    "seconds": {"Retry-After": "3"},
    "a fraction": {"Retry-After": "3.0"},
    "a date": {"Retry-After": _AT.format(3), "Date": _AT.format(0)},
    "milliseconds": {"retry-after-ms": "3000"},
    "milliseconds before seconds": {"retry-after-ms": "3000", "Retry-After": "9"},
    "seconds, and no milliseconds": {"retry-after-ms": "soon", "Retry-After": "3"},
}


@pytest.mark.parametrize("headers", IN_THREE_SECONDS.values(), ids=IN_THREE_SECONDS)
def test_a_good_retry_after_is_kept_to_in_any_form(headers: Mapping[str, str]) -> None:
    turned_away = hostile.always(429, hostile.error("Too many requests."), headers=headers)
    sample, slept = exchanged(CALL, hostile.first(1, turned_away, Agent(lambda *_: CALL.answer)), stream=True)
    assert slept == [3.0]
    assert timeless(sample) == unvaried(CALL, True)


@pytest.mark.parametrize("header", ["", "soon", "-3", "NaN", "Sun, 99 Nov"])
def test_a_retry_after_that_says_nothing_leaves_the_wait_to_the_client(header: str) -> None:
    turned_away = hostile.rate_limited(header)
    sample, (slept,) = exchanged(CALL, hostile.first(1, turned_away, Agent(lambda *_: CALL.answer)), stream=True)
    assert 0.5 <= slept <= 1.5
    assert timeless(sample) == unvaried(CALL, True)

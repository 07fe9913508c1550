"""The scripted endpoint itself keeps to what a request says."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.endpoints.agent import Agent
from tests.endpoints.answers import Answer, Refusal, within
from tests.endpoints.shifts import Chancy
from tests.mutation.scenes import BOOK, BOOK_CALL, WARN, WARN_CALL

pytestmark = pytest.mark.mutation

BOTH = Answer("I see to both.", "Two things.", (BOOK_CALL, WARN_CALL))


def asked(**more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": "Book it, and warn her."}], **more}


def said(**more: Any) -> Answer:
    return within(asked(**{"tools": [BOOK, WARN], **more}), BOTH)


@pytest.mark.parametrize(
    ("choice", "names"),
    [
        ("auto", ["book_berth", "warn_master"]),
        ("required", ["book_berth", "warn_master"]),
        ("none", []),
        ({"type": "function", "function": {"name": "warn_master"}}, ["warn_master"]),
    ],
)
def test_it_calls_what_tool_choice_lets_it(choice: object, names: list[str]) -> None:
    assert [call.name for call in said(tool_choice=choice).calls] == names


def test_it_calls_nothing_that_is_not_offered() -> None:
    assert said(tools=[]).calls == ()
    assert said(tools=[WARN]).calls == (WARN_CALL,)


def test_it_makes_one_call_where_parallel_ones_are_ruled_out() -> None:
    assert said(parallel_tool_calls=False).calls == (BOOK_CALL,)


@pytest.mark.parametrize("stop", ["to", ["never", "to"]])
def test_it_stops_before_a_stop(stop: object) -> None:
    stopped = said(stop=stop)
    assert (stopped.content, stopped.calls, stopped.reason) == ("I see ", (), "stop")


@pytest.mark.parametrize("limit", range(1, BOTH.tokens + 2))
def test_a_limit_of_tokens_cuts_the_end_off(limit: int) -> None:
    cut = said(max_tokens=limit)
    assert cut.tokens == min(limit, BOTH.tokens)
    assert cut.reason == ("length" if limit < BOTH.tokens else "tool_calls")


def test_a_seed_or_temperature_0_makes_it_say_the_same_again() -> None:
    agent = Agent(Chancy())

    def texts(**more: Any) -> set[str | None]:
        scripts = [agent.said(asked(**more)) for _ in range(3)]
        return {script.answers[0].content for script in scripts if not isinstance(script, Refusal)}

    assert len(texts()) == 3
    assert len(texts(seed=4)) == len(texts(temperature=0)) == len(texts(top_k=1)) == 1
    assert texts(seed=4) != texts(seed=5)


def test_several_choices_are_drawn_one_by_one() -> None:
    script = Agent(Chancy()).said(asked(n=3, seed=1))
    assert not isinstance(script, Refusal)
    body, chunks = script.body(), script.chunks()
    texts = ["".join(part["delta"].get("content") or "" for part in _parts(chunks, index)) for index in range(3)]
    assert texts == [choice["message"]["content"] for choice in body["choices"]]
    assert len(set(texts)) == 3


def _parts(chunks: list[dict[str, Any]], index: int) -> list[dict[str, Any]]:
    return [part for chunk in chunks for part in chunk["choices"] if part["index"] == index]


@pytest.mark.parametrize(
    ("name", "value"),
    [("temperature", -1), ("top_p", 1.5), ("n", 0), ("max_tokens", "many"), ("seed", 1.5), ("top_logprobs", 99)]
    + [("tool_choice", choice) for choice in ("sometimes", 17, {"type": "function"}, {"function": {"name": "moor"}})],
)
def test_a_value_that_means_nothing_is_turned_down_by_its_name(name: str, value: object) -> None:
    refusal = Agent(Chancy()).said(asked(**{"tools": [BOOK], name: value}))
    assert isinstance(refusal, Refusal)
    assert (refusal.status, json.loads(json.dumps(refusal.body))["error"]["param"]) == (400, name)

"""A piece asks a few prompts shortly, and gives more room to answers that were cut too early to tell."""

from __future__ import annotations

from dataclasses import replace

import pytest

from probes.completion import Completion, ToolCall
from probes.plan import Item, Outcome, Sample
from probes.quirks import Disposition
from probes.tools.calibration_piece import ROOM, ROOM_OF_A_CALL, Piece, piece
from tests.probes.tools.families.drawn import SEED, pool

CASES = [one.case for one in pool()[:3]]
OWN_ROOM = 2048


def made(nonce: bytes = b"first") -> Piece:
    return piece(0, [(case, [16, 17, 18]) for case in CASES], seed=SEED, run_nonce=nonce)


def sample(item: Item, content: str | None, finish: str = "length", *calls: ToolCall) -> Sample:
    answer = Completion(Disposition.ACCEPT, (), 200, content=content, tool_calls=calls, finish_reason=finish)
    return Sample(item, Outcome.OK, answer, ())


def with_room(item: Item, tokens: int) -> Item:
    return replace(item, request={**item.request, "max_tokens": tokens})


def test_repeats_share_their_prompt_and_the_two_runs_do_not() -> None:
    first, second = made(), made(b"second")
    prompts = {repr(item.request["messages"]) for item in first.plan.items}

    assert len(first.plan.items) == 9
    assert len(prompts) == 3
    assert prompts.isdisjoint(repr(item.request["messages"]) for item in second.plan.items)
    assert {item.request["max_tokens"] for item in first.plan.items} == {ROOM}


@pytest.mark.parametrize(
    ("content", "finish", "called"),
    [
        ("That would be", "length", False),
        ("No.", "stop", False),
        ("", "stop", False),
        ("<think>\nHm.\n</think>\n\nThat", "length", False),
        ("That", "content_filter", None),
    ],
)
def test_an_answer_that_goes_on_in_words_calls_nothing(content: str, finish: str, called: bool | None) -> None:
    asked = made()
    (item, *_) = asked.plan.items
    answer = sample(item, content, finish)

    assert asked.settles(answer)
    assert asked.called(answer) is called
    assert asked.again([answer]) is None


@pytest.mark.parametrize("finish", ["tool_calls", "length"])
def test_a_call_is_one_also_where_the_limit_cuts_what_follows(finish: str) -> None:
    asked = made()
    answer = sample(asked.plan.items[0], None, finish, ToolCall("keep", arguments={}))

    assert asked.settles(answer)
    assert asked.called(answer) is True


@pytest.mark.parametrize(
    ("content", "room", "then"),
    [
        ("", ROOM, ROOM_OF_A_CALL),
        ("<think>\nHm, let", ROOM, ROOM_OF_A_CALL),
        ('<tool_call>\n{"name": "ke', ROOM, ROOM_OF_A_CALL),
        ("<think>\nHm, let", ROOM_OF_A_CALL, OWN_ROOM),
        ('<tool_call>\n{"name": "ke', ROOM_OF_A_CALL, None),
        ("<think>\nHm, let", OWN_ROOM, None),
    ],
)
def test_an_answer_that_was_cut_before_one_can_tell_is_asked_for_again(
    content: str, room: int, then: int | None
) -> None:
    asked = made()
    item = with_room(asked.plan.items[0], room)
    plan = asked.again([sample(item, content)])

    assert (None if plan is None else [one.request["max_tokens"] for one in plan.items]) == (then and [then])
    assert plan is None or plan.items[0] == with_room(item, then or 0)


def test_what_never_comes_to_an_answer_is_none() -> None:
    asked = made()
    item = asked.plan.items[0]

    assert asked.called(sample(with_room(item, OWN_ROOM), "<think>\nHm, let")) is None
    assert asked.called(sample(with_room(item, ROOM_OF_A_CALL), '<tool_call>\n{"name": "ke')) is False
    assert asked.called(Sample(item, Outcome.TIMEOUT, None, ())) is None

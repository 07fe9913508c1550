"""The length algebra of a request."""

from __future__ import annotations

import pytest

from reference_engine.sched.plan import Entry
from reference_engine.sched.request import Request, State


@pytest.mark.parametrize(("start", "first_row"), [(None, 3), (4, 3), (3, 2), (1, 0), (0, 0)])
def test_a_position_is_read_from_the_row_before_it(start: int | None, first_row: int) -> None:
    assert Request("a", [1, 2, 3, 4], start).readable_from == first_row


@pytest.mark.parametrize(("prompt", "start"), [([], None), ([1, 2], 3)])
def test_a_position_that_no_row_gives_is_refused(prompt: list[int], start: int | None) -> None:
    with pytest.raises(ValueError, match="no row gives"):
        Request("a", prompt, start)


@pytest.mark.parametrize(("max_tokens", "rows"), [(0, 3), (1, 3), (2, 4)])
def test_the_last_generated_token_is_never_run(max_tokens: int, rows: int) -> None:
    assert Request("a", [1, 2, 3], max_tokens=max_tokens).most_rows == rows


def test_the_next_row_can_be_planned_while_drafts_are_verified() -> None:
    request = Request("a", [1, 2, 3], max_tokens=9)
    entry = Entry(request, 0, 3, request.readable_from, samples=True, drafts=3, pages=((0,),))
    request.admitted(0, [(0,)])

    request.planned(entry)
    assert (request.next_row, request.remaining, request.broken_rules()) == (6, 1, [])
    request.committed(entry, [4, 8])
    assert (request.next_row, request.remaining, request.computed, request.known) == (4, 1, 4, [1, 2, 3, 4, 8])


@pytest.mark.parametrize(
    ("wrong", "rule"),
    [
        ({"computed": 4}, "computed lies within known"),
        ({"in_flight": -1}, "no debts"),
        ({"computed": 2, "in_flight": 2, "pages": [(0,)]}, "a token that is not there"),
        ({"in_flight": 3, "pages": []}, "pages cover"),
        ({"pending": 1}, "no more tokens are sampled"),
        ({"readable_from": 0, "computed": 1, "pages": [(0,)]}, "no row that is wanted is skipped"),
        ({"state": State.WAITING, "pages": [(0,)]}, "who waits has no pages"),
    ],
)
def test_a_broken_rule_is_named(wrong: dict[str, object], rule: str) -> None:
    request = Request("a", [1, 2, 3])
    request.state = State.RUNNING
    assert request.broken_rules() == []

    for name, value in wrong.items():
        setattr(request, name, value)

    assert any(rule in broken for broken in request.broken_rules())

"""A plan as arrays."""

from __future__ import annotations

from reference_engine.sched.plan import Entry, Plan, Reason, batch_of
from reference_engine.sched.request import Request, State


def entry(request: Request, start: int, count: int, *, samples: bool = False, drafts: int = 0) -> Entry:
    pages = tuple((at,) for at in range(0, (start + count + drafts + 15) // 16 * 100, 100))
    return Entry(request, start, count, request.readable_from, samples, drafts, pages)


SCORING = Request("scoring", range(40), start=30)
ANSWERING = Request("answering", [7, 8, 9], max_tokens=5)
PLAN = Plan(
    (
        entry(SCORING, 28, 12),
        entry(ANSWERING, 3, 1, samples=True),
        entry(Request("verifying", [5, 6], start=1, max_tokens=9), 0, 2, samples=True, drafts=3),
    ),
    copies=(),
    borrowed=(),
    ahead=True,
).with_drafts({"verifying": [1, 2]})


def test_rows_of_a_request_stand_together_with_their_positions_and_page_table() -> None:
    batch = batch_of(PLAN)

    assert batch.ids.tolist() == [*range(28, 40), 0, 5, 6, 1, 2]
    assert batch.positions.tolist() == [*range(28, 40), 3, 0, 1, 2, 3]
    assert batch.owners.tolist() == [0] * 12 + [1] + [2] * 4
    assert batch.tables.tolist() == [[[0, 100, 200], [0, -1, -1], [0, -1, -1]]]
    assert batch.read.tolist() == [*range(1, 12), 12, 13, 14, 15, 16]
    assert [array.dtype.name for array in (batch.ids, batch.positions, batch.owners, batch.tables, batch.read)] == (
        ["int32", "int32", "int32", "int64", "int32"]
    )


def test_each_entry_finds_its_lines_and_why_they_were_read() -> None:
    lines = PLAN.read_lines()

    assert [(found.start, found.stop) for _, found in lines] == [(0, 11), (11, 12), (12, 16)]
    assert [[owner.reason(row) for row in owner.reads] for owner, _ in lines] == [
        [Reason.SCORE] * 11,
        [Reason.SAMPLE],
        [Reason.SCORE, Reason.SAMPLE, Reason.VERIFY, Reason.VERIFY],
    ]


def test_a_chunk_before_the_first_wanted_row_reads_nothing() -> None:
    plan = Plan((entry(SCORING, 0, 16),), copies=(), borrowed=(), ahead=False)

    assert batch_of(plan).read.tolist() == []
    assert plan.read_lines()[0][1] == slice(0, 0)


def test_no_more_tokens_are_verified_than_there_is_room_for() -> None:
    drafting = entry(Request("a", [5, 6], max_tokens=9), 1, 1, samples=True, drafts=2)

    verified = drafting.with_drafts([1, 2, 3, 4])

    assert (verified.ids(), verified.end, verified.most_rows) == ([6, 1, 2], 4, 3)
    assert drafting.with_drafts([]).ids() == [6]


def test_rows_begin_where_the_verified_tokens_end_once_these_are_known() -> None:
    request = Request("a", [7, 8, 9], max_tokens=9)
    ahead = entry(request, 6, 1, samples=True, drafts=2)
    request.known.append(4)
    request.computed = 3

    assert (ahead.settled().start, ahead.settled().ids(), ahead.settled().pages) == (3, [4], ahead.pages)


def test_a_row_of_a_request_that_has_ended_without_its_token_runs_another() -> None:
    request = Request("a", [7, 8, 9], max_tokens=9, state=State.FINISHED)

    assert (entry(request, 3, 1).settled().start, entry(request, 3, 1).ids()) == (3, [0])

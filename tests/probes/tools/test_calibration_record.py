"""A calibration that is made in pieces is the one that is made at once, and asks nothing twice."""

from __future__ import annotations

import json
from collections.abc import Iterator

from hypothesis import given, settings
from hypothesis import strategies as st

from probes.plan import Item
from probes.tools.calibration import REPEATS, Dropped
from probes.tools.calibration_record import Record
from tests.probes.tools.families.drawn import SEED, pool

CASES = [one.case for one in pool()[:7]]
# The chance of calling, in sixteenths; what does not answer at all, None.
CHANCES = dict(zip((case.key for case in CASES), (0, 16, 8, 5, None, 11, 2), strict=True))


def called(key: str, rep: int) -> bool | None:
    chance = CHANCES[key]
    return None if chance is None else rep % 16 < chance


def pieces(record: Record, size: int) -> Iterator[tuple[int, list[Item]]]:
    """Asks everything, so many at a time; what was asked, by run."""
    while (run := record.run_at_hand(CASES)) is not None:
        plan = record.plan(run, CASES, seed=SEED)
        piece = list(plan.plan.items[:size])
        for item in piece:
            key = plan.cases[item.key].key
            record.take(run, key, item.rep, called(key, item.rep))
        yield run, piece


@settings(max_examples=10)
@given(st.integers(1, 300))
def test_pieces_of_any_size_come_to_the_same_and_ask_nothing_twice(size: int) -> None:
    record, whole = Record(), Record()
    asked = [(run, item.key, item.rep) for run, piece in pieces(record, size) for item in piece]
    list(pieces(whole, 10_000))

    assert len(asked) == len(set(asked))
    assert record.to_json() == whole.to_json()
    assert record.calibration(CASES) == whole.calibration(CASES)


def test_the_second_run_asks_those_that_the_first_left_in_doubt() -> None:
    record = Record()
    asked = [len(piece) for _, piece in pieces(record, 10_000)]
    found = record.calibration(CASES)

    assert asked == [7 * REPEATS, 3 * REPEATS]
    assert record.asked(1, CASES) == (3 * REPEATS, 3 * REPEATS)
    assert {key: count.answers for key, count in found.kept.items()} == {
        key: 2 * REPEATS for key, chance in CHANCES.items() if chance in (5, 8, 11)
    }
    assert sorted(found.dropped.values()) == [Dropped.ALWAYS, Dropped.FEW_ANSWERS, Dropped.SELDOM, Dropped.SELDOM]


def test_no_two_runs_draw_alike_and_no_check_draws_as_they_do() -> None:
    record = Record()
    reps = [{item.rep for item in piece} for _, piece in pieces(record, 10_000)]

    assert reps == [set(range(REPEATS, 2 * REPEATS)), set(range(2 * REPEATS, 3 * REPEATS))]


def test_what_two_processes_asked_is_joined() -> None:
    mine, yours, both = Record(), Record(), Record()
    for place, item in enumerate(Record().plan(0, CASES, seed=SEED).plan.items):
        key = item.key.partition("-")[0]
        (mine if place % 3 else yours).take(0, key, item.rep, called(key, item.rep))
        both.take(0, key, item.rep, called(key, item.rep))

    mine.merge(yours)

    assert mine.to_json() == both.to_json()


def test_it_is_read_back_from_json() -> None:
    record = Record()
    next(pieces(record, 50))

    assert Record(json.loads(json.dumps(record.to_json()))).to_json() == record.to_json()

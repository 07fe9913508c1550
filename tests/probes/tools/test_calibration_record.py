"""A calibration that is made in pieces is the one that is made at once, and asks nothing twice."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probes.plan import Item
from probes.tools.calibration import FIRST_PART, LOOK, REPEATS, Dropped
from probes.tools.calibration_piece import CASES_OF_A_PIECE
from probes.tools.calibration_record import Record
from probes.tools.case import Case
from tests.probes.tools.families.drawn import SEED, pool

CASES = [one.case for one in pool()[:7]]
# The chance of calling, in sixteenths; what does not answer at all, None.
CHANCES = dict(zip((case.key for case in CASES), (0, 16, 8, 5, None, 11, 2), strict=True))


def called(key: str, rep: int) -> bool | None:
    chance = CHANCES[key]
    return None if chance is None else (rep * 7) % 16 < chance


def pieces(record: Record, size: int = 10_000, cases: Sequence[Case] = CASES) -> Iterator[tuple[int, list[Item]]]:
    """Asks everything, of each piece so many requests at most; what was asked, by run."""
    while (piece := record.piece(cases, seed=SEED)) is not None:
        asked = list(piece.plan.items[:size])
        for item in asked:
            record.take(piece.run, item.key, item.rep, called(item.key, item.rep))
        yield piece.run, asked


@settings(max_examples=10)
@given(st.integers(1, 40))
def test_pieces_of_any_size_come_to_the_same_and_ask_nothing_twice(size: int) -> None:
    record, whole = Record(), Record()
    asked = [(run, item.key, item.rep) for run, piece in pieces(record, size) for item in piece]
    list(pieces(whole))

    assert len(asked) == len(set(asked))
    assert record.to_json() == whole.to_json()
    assert record.calibration(CASES) == whole.calibration(CASES)


def test_a_piece_is_a_few_prompts_half_of_a_run_each() -> None:
    asked = [Counter(item.key for item in piece) for _, piece in pieces(Record())]

    assert {len(piece) for piece in asked[:-1]} <= set(range(1, CASES_OF_A_PIECE + 1))
    assert {count for piece in asked for count in piece.values()} == {LOOK}


def test_the_second_run_asks_those_that_the_first_left_in_doubt() -> None:
    record = Record()
    asked = Counter((run, item.key) for run, piece in pieces(record) for item in piece)
    found = record.calibration(CASES)

    assert {(key, CHANCES[key]): count for (run, key), count in asked.items() if run == 0} == {
        (key, chance): LOOK if chance in (0, 16, None) else REPEATS for key, chance in CHANCES.items()
    }
    assert {key for run, key in asked if run == 1} == {key for key, chance in CHANCES.items() if chance in (5, 8, 11)}
    assert (record.settled(0, CASES), record.settled(1, CASES), record.in_doubt()) == ((7, 7), (3, 3), 3)
    assert {key: count.answers for key, count in found.kept.items()} == {
        key: 2 * REPEATS for key, chance in CHANCES.items() if chance in (5, 8, 11)
    }
    assert sorted(found.dropped.values()) == [Dropped.ALWAYS, Dropped.FEW_ANSWERS, Dropped.SELDOM, Dropped.SELDOM]


@pytest.mark.parametrize(("doubtful", "settled"), [(frozenset(), FIRST_PART), (frozenset({FIRST_PART - 1}), 400)])
def test_where_the_first_part_leaves_none_in_doubt_the_rest_is_not_asked(
    doubtful: frozenset[int], settled: int
) -> None:
    record, everyone = Record(), [one.case for one in pool()]
    for place, case in enumerate(everyone[:FIRST_PART]):
        for rep in range(REPEATS if place in doubtful else LOOK):
            record.take(0, case.key, REPEATS + rep, place in doubtful and rep % 2 == 0)

    assert (record.run_at_hand(everyone) is None) is (not doubtful)
    assert record.settled(0, everyone) == (FIRST_PART, settled)
    unasked = sum(why is Dropped.UNASKED for why in record.calibration(everyone).dropped.values())
    assert unasked == 400 - FIRST_PART


def test_no_two_runs_draw_alike_and_no_check_draws_as_they_do() -> None:
    reps = defaultdict[int, set[int]](set)
    for run, piece in pieces(Record()):
        reps[run] |= {item.rep for item in piece}

    assert reps == {0: set(range(REPEATS, 2 * REPEATS)), 1: set(range(2 * REPEATS, 3 * REPEATS))}


def test_what_two_processes_asked_is_joined() -> None:
    mine, yours, both = Record(), Record(), Record()
    piece = both.piece(CASES, seed=SEED)
    assert piece is not None
    for place, item in enumerate(piece.plan.items):
        (mine if place % 3 else yours).take(0, item.key, item.rep, called(item.key, item.rep))
        both.take(0, item.key, item.rep, called(item.key, item.rep))

    mine.merge(yours)

    assert mine.to_json() == both.to_json()


def test_it_is_read_back_from_json() -> None:
    record = Record()
    next(pieces(record))

    assert Record(json.loads(json.dumps(record.to_json()))).to_json() == record.to_json()

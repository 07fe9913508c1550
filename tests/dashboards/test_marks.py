"""The letters of a chart's marks: whatever happened, whenever, each is seen once, and none covers another."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboards.chart import Mark, Width
from dashboards.marks import Tag, strip, tags
from dashboards.past import ALERT_LETTER, LETTERS
from monitor.store.series import Span

START = datetime(2026, 11, 1, tzinfo=UTC)
SPAN = Span(START, START + timedelta(days=30))
LENGTH = SPAN.end - SPAN.start
PLOT = Width.NARROW.plot

marks_of_a_month = st.lists(
    st.builds(
        lambda share, letter: Mark(SPAN.start + share * LENGTH, letter, alert=letter == ALERT_LETTER),
        st.one_of(st.floats(0, 1, exclude_max=True), st.sampled_from([0.0, 0.5, 0.501, 0.999])),
        st.sampled_from([ALERT_LETTER, *LETTERS.values()]),
    ),
    max_size=60,
)


def mark(hours: float, letter: str) -> Mark:
    return Mark(START + timedelta(hours=hours), letter, alert=letter == ALERT_LETTER)


def overlap(one: Tag, other: Tag) -> bool:
    apart = one.left + one.width <= other.left or other.left + other.width <= one.left
    return one.row == other.row and not apart


@settings(max_examples=100)
@given(marks_of_a_month, st.sampled_from(Width))
def test_every_mark_is_in_one_letter_and_no_letter_covers_another(marks: list[Mark], width: Width) -> None:
    found = tags(marks, SPAN, width.plot)

    counts: Counter[str] = Counter()
    for tag in found:
        counts[tag.letter] += tag.count
    assert counts == Counter(each.letter for each in marks)
    assert not any(overlap(one, other) for one, other in combinations(found, 2))
    assert all(tag.left >= 0 and tag.left + tag.width <= width.plot and tag.row >= 0 for tag in found)
    assert strip(found) <= 7 * 13


@pytest.mark.parametrize(
    ("marks", "texts"),
    [
        ([], []),
        ([mark(100, "F"), mark(400, "A")], [("F", 0), ("A", 0)]),
        ([mark(100, "F"), mark(100, "A"), mark(100, "B")], [("A", 0), ("B", 1), ("F", 2)]),
        ([mark(100, "F"), mark(101, "F"), mark(102, "F")], [("F×3", 0)]),
    ],
)
def test_marks_apart_have_a_letter_each_and_those_together_a_column(
    marks: list[Mark], texts: list[tuple[str, int]]
) -> None:
    assert [(tag.text, tag.row) for tag in tags(marks, SPAN, PLOT)] == texts


def test_a_letter_stands_over_its_line() -> None:
    (tag,) = tags([mark(360, "F")], SPAN, PLOT)
    assert tag.middle == pytest.approx(PLOT / 2)

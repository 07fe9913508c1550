"""A rate is told with what it is of, or named among those of nothing: none is lost, and none is made up."""

from __future__ import annotations

from hypothesis import given, settings

from monitor.render.junit import junit
from monitor.render.markdown import markdown
from monitor.render.rates import rates_table
from monitor.verdict import RateValue
from tests.monitor.render.material import SEEDS, document, rates


@settings(max_examples=30, deadline=None)
@given(SEEDS)
def test_no_row_is_without_a_denominator_and_every_rate_is_named_once(seed: int) -> None:
    drawn = rates(seed)
    table = rates_table(drawn)
    counted = {one.name for one in drawn if one.denominator}
    of_nothing = [line for line in table.after if line.startswith("not asked")]

    assert [row.cells[4] for row in table.rows] == [one.name for one in drawn if one.name in counted]
    assert not any("–" in cell or "/0" in cell for row in table.rows for cell in row.cells)
    named = ", ".join(one.name for one in drawn if one.name not in counted)
    assert of_nothing == ([f"not asked, or no such answers: {named}"] if named else [])
    assert "/0 " not in markdown(document(rates=drawn))
    assert "0/0" not in junit(document(rates=drawn), "drift")


@settings(max_examples=30, deadline=None)
@given(SEEDS)
def test_what_is_left_out_of_a_rate_is_told_where_its_mark_leads(seed: int) -> None:
    drawn = rates(seed)
    table = rates_table(drawn)
    lines = dict(line.split("  left out: ") for line in table.after if "  left out: " in line)
    by_name = {one.name: one for one in drawn}

    for row in table.rows:
        _, _, mark = row.cells[2].partition(" ")
        told = sorted(int(part.split()[0]) for part in lines[mark].split(", ")) if mark else []
        assert told == sorted(by_name[row.cells[4]].excluded.values())


def test_what_is_no_share_is_not_told_in_percent() -> None:
    steps = RateValue(name="loop_steps_ratio", value=1.25, numerator=15, denominator=12, method="linearised")
    assert rates_table((steps,)).rows[0].cells[1] == "1.25"

"""What it is now and what it was are told in one unit, and how far it moved as what it is: their difference."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings

from monitor.drift.rule import Verdict
from monitor.render.checks import CHANGED, RIGHT, check_tables
from monitor.render.measures import measures
from monitor.verdict import Check
from tests.monitor.render.material import SEEDS, check

_NUMBER = r"[+-]?\d+(?:\.\d+)?"


def split(cell: str) -> tuple[float, str]:
    """A cell's number and unit, without its interval."""
    found = re.match(rf"({_NUMBER}) ([a-z%]+)", cell)
    assert found, cell
    return float(found[1]), found[2].rstrip("s")


@settings(max_examples=50, deadline=None)
@given(SEEDS)
def test_now_and_before_are_one_quantity_and_the_move_is_their_difference(seed: int) -> None:
    one = check(seed)
    told = measures(one)

    assert bool(told.before) <= bool(told.now)
    assert (one.value is None) == (told.now == told.before == told.moved == "")
    if told.before:
        (now, unit), (before, same), (moved, _) = split(told.now), split(told.before), split(told.moved)
        assert unit == same
        assert moved == pytest.approx(now - before, abs=0.151)
    if told.moved:
        assert split(told.moved)[1] != "%"


@settings(max_examples=50, deadline=None)
@given(SEEDS)
def test_a_check_has_a_row_with_figures_or_is_named_with_its_reason(seed: int) -> None:
    one = check(seed)
    tables = check_tables((one,), None)
    rows = [row for table in tables for row in table.rows]
    named = [line for table in tables for line in table.after if one.probe in line]

    assert [table.names for table in tables] == [CHANGED, RIGHT]
    assert (len(rows), len(named)) == ((0, 1) if one.value is None else (1, 0))
    assert all(one.reason in line for line in named)
    assert all(any(row.cells[2:]) for row in rows)


TRIGGER = ("tool_calls.trigger", -0.25, "rate", 1.0, (-0.5, 0.0))


@pytest.mark.parametrize(
    ("probe", "value", "unit", "baseline", "interval", "cells"),
    [
        (*TRIGGER, ("75.0 %", "100 %", "-25.0 pts [-50.0, +0.0]")),
        ("accounting", 12.0, "token", 0.0, None, ("+12 tokens", "+0 tokens", "+12 tokens")),
        ("logprobs", 0.6583, "nat", 0.004, None, ("", "", "0.658 nat")),
        ("latency", 0.0412, "s", None, (0.038, 0.045), ("41 ms [38, 45]", "", "")),
        ("protocol.stack", 1.0, "changes", None, None, ("", "", "1 change")),
        ("streams", 34.5, None, None, None, ("E 34.5", "", "")),
        ("streams", 12_345.6, None, None, None, ("E 12,346", "", "")),
        ("fidelity.tokens", 1.0, "token", None, (0.0, 3.0), ("", "", "+1 token [+0, +3]")),
    ],
)
def test_a_check_is_told_in_its_own_units(
    probe: str,
    value: float,
    unit: str | None,
    baseline: float | None,
    interval: tuple[float, float] | None,
    cells: tuple[str, str, str],
) -> None:
    found = Check(probe=probe, verdict=Verdict.OK, value=value, unit=unit, baseline=baseline, interval=interval)
    told = measures(found)
    assert (told.now, told.before, told.moved) == cells


def test_what_moved_stands_before_what_did_not() -> None:
    quiet = Check(probe="accounting", verdict=Verdict.OK, value=0.0, unit="token")
    loud = Check(probe="protocol.stack", verdict=Verdict.DRIFT, value=1.0, unit="changes")
    changed, _ = check_tables((quiet, loud), None)
    assert [row.cells[:2] for row in changed.rows] == [("protocol.stack", "DRIFT"), ("accounting", "ok")]

"""Whatever the width, a line fits and nothing in it is torn; what is said first is what it comes to."""

from __future__ import annotations

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from monitor.drift.rule import Verdict
from monitor.render.checks import check_tables
from monitor.render.rates import rates_table
from monitor.render.terminal import print_verdict
from monitor.render.wording import cost_text
from monitor.verdict import BaselineValue, Check, Cost, FidelityStatement, VerdictDocument
from tests.monitor.render.material import AT, SEEDS, checks, document, rates


def printed(shown: VerdictDocument, width: int) -> str:
    console = Console(file=io.StringIO(), width=width)
    print_verdict(console, shown, 0)
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


@settings(max_examples=25, deadline=None)
@given(SEEDS, st.sampled_from([40, 80, 100, 240]))
def test_lines_fit_and_cells_are_whole(seed: int, width: int) -> None:
    found, drawn = checks(seed), rates(seed)
    text = printed(document(*found, rates=drawn), width)

    assert max(map(len, text.splitlines())) <= min(width, 110)
    if width < 80:
        return
    cells = [cell for table in check_tables(found, None) for row in table.rows for cell in row.cells]
    cells += [cell for row in rates_table(drawn).rows for cell in row.cells[:4]]
    parts = [part for cell in cells for part in cell.replace(" [", "\n[").split("\n")]
    assert [part for part in parts if part not in text] == []


def test_names_that_are_longer_than_the_console_are_broken_and_not_cut() -> None:
    text = printed(document(Check(probe="q" * 300, verdict=Verdict.DRIFT, value=1.0, unit="nat")), 60)
    assert max(map(len, text.splitlines())) <= 60
    assert text.count("q") >= 600


def test_the_verdict_comes_first_with_what_changed_since_when_and_how_sure_that_is() -> None:
    moved = Check(
        probe="tool_calls.conformance",
        verdict=Verdict.DRIFT,
        value=-0.2,
        unit="rate",
        interval=(-0.3, -0.1),
        baseline=1.0,
        p=1e-5,
    )
    shown = document(moved, verdict=Verdict.DRIFT).model_copy(
        update={"baselines": (BaselineValue(probe="tool_calls", since=AT, runs=3),)}
    )

    assert printed(shown, 100).splitlines()[:4] == [
        "x / lark  https://x.test/v1",
        "DRIFT in tool_calls.conformance: the endpoint is not what it was",
        "tool_calls.conformance moved -20.0 pts [-30.0, -10.0]; by chance that comes with p 1e-05",
        "compared with 3 accepted runs since 2026-11-29 00:00 UTC: tool_calls",
    ]
    assert printed(shown, 100).splitlines()[-1] == "DRIFT  exit 0"


def test_to_differ_from_the_reference_is_not_said_to_have_moved() -> None:
    apart = Check(probe="fidelity.tokens", verdict=Verdict.SUSPECT, value=3.0, unit="token")
    counts = Check(probe="accounting", verdict=Verdict.SUSPECT, value=3.0, unit="token", baseline=3.0)
    shown = document(apart, counts, verdict=Verdict.SUSPECT).model_copy(
        update={"fidelity": FidelityStatement(verdict=Verdict.SUSPECT, value=0.1, allowed=("bf16",))}
    )
    line = printed(shown, 200).splitlines()[1]
    assert line.startswith("SUSPECT: it is not what its reference is (fidelity, fidelity.tokens, accounting)")
    assert "may have moved" not in line


@pytest.mark.parametrize(
    ("cost", "text"),
    [
        (Cost(requests=3, tokens_in=9, tokens_out=6), "3 requests, 9 tokens in and 6 out, price not configured"),
        (
            Cost(requests=3, tokens_in=None, tokens_out=None, without_usage=3),
            "3 requests, tokens not known (3 answers came without a count), cost not known",
        ),
        (
            Cost(requests=3, tokens_in=9, tokens_out=6, without_usage=1, usd=2e-6),
            "3 requests, at least 9 tokens in and 6 out (1 answer came without a count), at least $0.000002",
        ),
        (
            Cost(requests=3, tokens_in=9, tokens_out=None, without_usage=3),
            "3 requests, at least 9 tokens in, out not known (3 answers came without a count), cost not known",
        ),
    ],
)
def test_what_an_endpoint_does_not_tell_is_not_nothing(cost: Cost, text: str) -> None:
    assert cost_text(cost) == text
    assert "0 tokens" not in text

"""Tool calls of a week whose cases the baseline has not seen: a light run finds by their kind what changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from monitor.drift.by_kind import CaseSide, alone, by_kind
from monitor.drift.family import Told
from monitor.drift.multiplicity import Family
from monitor.drift.rule import Verdict
from monitor.drift.tool_assess import assess_tools
from monitor.drift.tool_questions import QUESTIONS
from probes.tools.case import Case, Category
from probes.tools.families.suite import instances
from probes.tools.ladder import Rung
from probes.tools.plan import SHARES, share
from probes.tools.scored import Scored
from tests.monitor.drift.scored_answers import call, called, scored

SEED = bytes(32)
(CALLS,), (WITHIN_SCHEMA, *_) = QUESTIONS[Family.TRIGGER], QUESTIONS[Family.ARGUMENTS]


@cache
def cases(week: int) -> tuple[Case, ...]:
    return tuple(one.case for one in instances(SEED, week))


class Endpoint:
    """Families differ in how hard they are, and instances among themselves as much again."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._hard: dict[str, float] = {}

    def answers(self, asked: Sequence[Case], *, calling: float = 0.9, schema: float = 0.98) -> list[Scored]:
        return [self._answer(case, rep, calling, schema) for case in asked for rep in range(case.reps)]

    def _answer(self, case: Case, rep: int, calling: float, schema: float) -> Scored:
        does, fits = (self._rng.random() < self._chance(case, level) for level in (calling, schema))
        made = (call(Rung.OK if fits else Rung.SCHEMA_MISMATCH),) if does else ()
        facts = {"category": case.category, "family": case.family, "trigger": case.oracle.trigger}
        return scored(case.key, rep=rep, anchor=case.anchor, called=bool(does), calls=made, **facts)

    def _chance(self, case: Case, level: float) -> float:
        odds = level / (1.0 - level) * np.exp(0.6 * (self._of(case.family) + self._of(case.key)))
        return float(odds / (1.0 + odds))

    def _of(self, name: str) -> float:
        return self._hard.setdefault(name, float(self._rng.normal()))


def baseline(endpoint: Endpoint) -> list[Scored]:
    """All of the first week, by eight light runs."""
    return [one for turn in range(SHARES) for one in endpoint.answers(share(cases(1), turn, seed=SEED))]


def suspected(seeds: range, **changed: float) -> list[set[Family]]:
    """By a light run each in the second week."""
    found = []
    for seed in seeds:
        endpoint = Endpoint(seed)
        past, asked = baseline(endpoint), share(cases(2), seed, seed=SEED)
        now, kindred = endpoint.answers(asked, **changed), CaseSide(past)
        drift = assess_tools(now, past=past, reference=(), no_past="", no_reference="", kindred=kindred).drift
        found.append({family for family, one in drift.items() if one.verdict in (Verdict.SUSPECT, Verdict.DRIFT)})
    return found


@pytest.mark.parametrize(
    ("family", "changed", "at_least"),
    [(Family.ARGUMENTS, {"schema": 0.85}, 0.5), (Family.TRIGGER, {"calling": 0.7}, 0.25)],
)
def test_an_endpoint_that_changed_with_the_week_is_suspected_within_a_few_light_runs(
    family: Family, changed: dict[str, float], at_least: float
) -> None:
    found = suspected(range(16), **changed)

    assert found.count({family}) + found.count(set()) == len(found)
    assert found.count({family}) >= at_least * len(found)


def test_an_endpoint_that_did_not_change_is_not_said_to_have_with_the_week() -> None:
    assert suspected(range(12)) == [set()] * 12


@pytest.mark.soak
def test_of_many_light_runs_of_another_week_one_in_a_hundred_is_suspected() -> None:
    found = suspected(range(600))

    assert len(found) - found.count(set()) <= 6 + 2 * np.sqrt(6)


def week(name: str, right: Sequence[int], *, of: int = 5, kind: Category = Category.T5, **facts: bool) -> list[Scored]:
    """Cases of a week of its own that call nothing but so many times."""
    return [
        answer
        for place, times in enumerate(right)
        for answer in called(f"{name}-{place}", times=times, of=of, category=kind, **facts)
    ]


def told(now: CaseSide, then: CaseSide) -> Told | None:
    return by_kind(replace(CALLS, success=lambda answer: answer.called), *alone(now, then))


def test_each_case_counts_once_and_by_as_many_repeats_on_both_sides() -> None:
    now = week("now", [5, 4] * 5)
    many = week("then", [9] * 10, of=10)

    once, again = told(CaseSide(now), CaseSide(many)), told(CaseSide([*now, *now]), CaseSide(many))

    assert once == again
    assert once is not None
    assert [once.cases, once.was, once.moved.value] == pytest.approx([10, 1.0, -0.1])


@pytest.mark.parametrize(
    "then",
    [
        week("then", [5] * 10, anchor=True),
        week("then", [5] * 10, kind=Category.T6),
        week("now", [5] * 10),
        week("then", [5] * 7),
        [],
    ],
)
def test_anchors_and_kinds_of_one_side_and_few_cases_say_nothing(then: list[Scored]) -> None:
    assert told(CaseSide(week("now", [0] * 10)), CaseSide(then)) is None


def test_how_often_the_reference_answers_is_no_measure_of_anybody() -> None:
    now, then = (CaseSide(week(name, [5] * 10), week(name, [5] * 10)) for name in ("now", "then"))

    drift = assess_tools(
        now.answers, past=then.answers, reference=now.reference, no_past="", no_reference="", kindred=then
    ).drift

    reasons = [drift[family].reason for family in (Family.AVAILABILITY, Family.CONFORMANCE)]
    assert [", less the reference's" in reason for reason in reasons] == [False, True]


def test_what_the_reference_finds_as_hard_is_no_fault_where_it_was_asked_the_same() -> None:
    easy, hard = [5, 5, 5, 4] * 5, [3, 2, 1, 2] * 5
    now, then = (CaseSide(week(name, right), week(name, right)) for name, right in (("now", hard), ("then", easy)))

    held, alone_ = told(now, then), told(replace(now, reference=()), then)

    assert held is not None
    assert alone_ is not None
    assert [held.moved.value, held.was, held.tests[0].p] == pytest.approx([0.0, 0.95, 1.0])
    assert alone_.moved.value == pytest.approx(-0.55)
    assert alone_.tests[0].p < 1e-6
    assert held.asks.endswith("less the reference's, by kinds of cases over runs and weeks")

"""Counts of bad cases: what a baseline makes lawful, what is bet on afterwards, and how often that is wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.drift.broken_calls import alternatives
from monitor.drift.count_stream import CountStream, Tally
from monitor.drift.evidence import Counts, Evidence, StreamKey, Tier
from monitor.drift.levels import DAY, Levels
from monitor.drift.onset import count_onset
from monitor.drift.score_stream import StreamRule
from monitor.drift.sequential import Wealth
from monitor.drift.stream_standing import Phase, StreamStanding, levels_of
from monitor.drift.streams import Epoch, StreamState, fold

KEY = StreamKey("ep_1", Tier.CAPABILITY, "cases")
NEW = StreamState(KEY, StreamRule(1), Epoch(0, 20_000 * DAY, "stack-1"))
ASKED, CASES, SHARE = "1-abc", 120, 0.02


def said(day: float, bad: int, *, of: int = CASES, fresh: bool = True, prefix: str | None = None) -> Evidence:
    """A round of cases that no other one asks, of which the first are bad."""
    name = f"{day}-" if prefix is None else prefix
    cases = tuple((f"{name}{number}", 1.0) for number in range(bad))
    new = (float(bad), of) if fresh else (0.0, 0)
    return Evidence(KEY, (20_000 + day) * DAY, Counts(cases, of, *new, ASKED))


def counted(state: StreamState) -> CountStream:
    assert isinstance(state.process, CountStream)
    return state.process


BASED = fold(NEW, [said(day, 2) for day in range(3)])


def test_the_first_rounds_say_what_is_lawful() -> None:
    begun = fold(NEW, [said(day, 2) for day in range(2)])
    assert not begun.calibrated
    assert begun.value == 1.0
    assert StreamStanding.of(begun) == StreamStanding(
        Phase.CALIBRATING, "240 of 300 new cases, 2 of 3 rounds, 2 of 3 days", 20_000 * DAY
    )
    assert BASED.calibrated
    assert StreamStanding.of(BASED).phase is Phase.BETTING
    levels = levels_of(BASED)
    assert levels is not None
    assert 6 / 360 < levels.hourly == levels.daily < 0.05
    assert levels.days == 3


def test_rounds_of_one_day_are_no_baseline() -> None:
    assert not fold(NEW, [said(number / 24, 2) for number in range(6)]).calibrated


def test_cases_that_were_asked_before_are_no_part_of_a_baseline() -> None:
    """What they came to is known: asked every day of a week they would pass for seven times as many."""
    assert (
        counted(fold(NEW, [said(day, 2, fresh=day == 0) for day in range(7)])).past
        == counted(NEW.after(said(0, 2))).past
    )


def test_more_bad_cases_than_are_lawful_win() -> None:
    worse = fold(BASED, [said(day, 18) for day in range(3, 9)])
    assert worse.value >= 1_000.0
    assert fold(BASED, [said(day, 2) for day in range(3, 9)]).value < 1.0


def test_a_case_that_was_bad_before_counts_no_second_time() -> None:
    week = [said(3, 18, prefix="week-")] + [said(day, 18, fresh=False, prefix="week-") for day in range(4, 10)]
    assert fold(BASED, week).value <= fold(BASED, week[:1]).value


def test_days_that_ask_a_week_again_take_little_of_what_its_new_cases_won() -> None:
    """What stays as it was is no evidence that less is bad."""
    new = [said(3, 18, prefix="week-"), said(10, 18, prefix="next-")]
    again = [said(day, 18, fresh=False, prefix="week-") for day in range(4, 10)]
    assert fold(BASED, [new[0], *again, new[1]]).value > 0.4 * fold(BASED, new).value


def test_a_case_that_turns_bad_within_its_week_counts() -> None:
    whole = said(3, 0, prefix="week-")
    turned = said(4, 18, fresh=False, prefix="week-")
    assert fold(BASED, [whole, turned]).value > 2.0 * fold(BASED, [whole, said(4, 0, fresh=False)]).value


def test_other_questions_and_older_rounds_count_nothing() -> None:
    other = said(5, 60)
    assert isinstance(other.says, Counts)
    assert BASED.after(replace(other, says=replace(other.says, asked="2-abc"))) == BASED
    assert BASED.after(said(2, 60)) == BASED
    assert BASED.after(said(1, 60)) == BASED


@given(st.integers(0, 20), st.integers(1, 10))
def test_when_more_were_bad_is_told(before: int, since: int) -> None:
    rounds = [Tally(float(day), 2.0 if day < before else 30.0, CASES) for day in range(before + since)]
    found = count_onset(rounds, 0.03)
    assert found is not None
    assert (found.first, found.until) == (before, before)
    assert found.credible
    assert count_onset(rounds[:before], 0.03) is None


def test_where_nearly_all_is_bad_nothing_can_be_worse() -> None:
    broken = fold(NEW, [said(day, 118) for day in range(3)])
    assert StreamStanding.of(broken).phase is Phase.INAPPLICABLE
    assert "bad is lawful, which leaves nothing to be worse" in (broken.why_not or "")
    mended = fold(broken, [said(day, 0) for day in range(3, 40)])
    assert mended.why_not is None
    assert mended.calibrated


def test_the_next_epoch_keeps_what_is_lawful() -> None:
    later = fold(BASED, [said(day, 18) for day in range(3, 9)]).renewed(Epoch(1, 20_030 * DAY, "stack-1"))
    assert later.value == 1.0
    assert levels_of(later) == levels_of(BASED)
    half = NEW.after(said(0, 2)).renewed(Epoch(1, 20_030 * DAY, "stack-1"))
    assert counted(half).past == counted(NEW.after(said(0, 2))).past


def test_another_stack_of_ours_changes_nothing_that_the_endpoint_calls() -> None:
    """A baseline made anew would take in a drift that is under way."""
    ours = BASED.rebased(Epoch(1, 20_010 * DAY, "stack-2"), ())
    assert levels_of(ours) == levels_of(BASED)
    accepted = BASED.rebased(Epoch(1, 20_010 * DAY, "stack-1"), ())
    assert accepted.process is None


@pytest.mark.parametrize(("spread", "known"), [(0.0, False), (0.01, False), (0.0, True)])
def test_lawful_epochs_keep_their_promise(spread: float, known: bool) -> None:
    """500 epochs of thirty daily rounds, in which each week's cases are the same ones every day, after a baseline of
    four weeks; chances of rounds differ by `spread`. As often as one looks. known: without a margin, the lawful share
    being the true one."""
    rng = np.random.default_rng(7)
    highest = np.array([max(_values(rng, spread, known)) for _ in range(500)])
    assert np.mean(highest >= 100.0) <= 0.01 + 2.0 * np.sqrt(0.01 * 0.99 / 500)
    assert not known or highest.max() > 2.0


def _values(rng: np.random.Generator, spread: float, known: bool) -> list[float]:
    state, values = NEW, []
    for day in range(28 + 30):
        if day % 7 == 0:
            bad = rng.random(CASES) < np.clip(SHARE + spread * rng.standard_normal(), 0.0, 1.0)
        if day == 28 and known:
            exact = {
                "lawful": Levels(SHARE, SHARE, 0.0, 28),
                "wealth": Wealth(30, (0.0,) * (2 * len(alternatives(SHARE)))),
            }
            state = replace(state, process=replace(counted(state), **exact))
        names = [f"{day // 7}-{number}" for number in np.flatnonzero(bad)]
        fresh = (float(len(names)), CASES) if day % 7 == 0 else (0.0, 0)
        says = Counts(tuple((name, 1.0) for name in names), CASES, *fresh, ASKED)
        state = state.after(Evidence(KEY, (20_000 + day) * DAY, says))
        values.append(state.value)
    return values

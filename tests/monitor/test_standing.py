"""How an endpoint stands: by the worst verdict that stands of anything it was asked, whichever was asked last."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.drift.rule import Verdict
from monitor.standing import NOTHING_EXPECTED, Expected, StandingVerdict, followed, is_fidelity, stand_of
from probes.plan import ProbeKind

AT = datetime(2026, 11, 29, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
HOURLY = Expected({ProbeKind.LOGPROBS, ProbeKind.TOOL_CALLS}, 3 * HOUR)
VERDICTS = st.sampled_from(Verdict)


def found(
    verdict: Verdict,
    hours: float = 0,
    *,
    probe: ProbeKind = ProbeKind.LOGPROBS,
    metric: str = "logprobs",
    suite: str = "",
) -> StandingVerdict:
    at = AT + hours * HOUR
    return StandingVerdict(probe, suite, metric, verdict, at, at, f"chk_{hours:g}", f"run_{hours:g}")


def told(*verdicts: Verdict) -> StandingVerdict:
    """What stands after these verdicts of one metric, one an hour."""
    held = None
    for hours, verdict in enumerate(verdicts):
        held = followed(held, found(verdict, hours))
    assert held is not None
    return held


def badness(verdict: Verdict | None) -> int:
    return {Verdict.DRIFT: 2, Verdict.SUSPECT: 1}.get(verdict or Verdict.OK, 0)


standing_verdicts = st.builds(
    found,
    VERDICTS,
    st.integers(-48, 0),
    probe=st.sampled_from([ProbeKind.LOGPROBS, ProbeKind.LATENCY, ProbeKind.EVALS, ProbeKind.TOOL_CALLS]),
    metric=st.sampled_from(["logprobs", "fidelity", "latency", "tool_calls.trigger"]),
    suite=st.sampled_from(["", "night", "shop"]),
)


def test_a_later_verdict_takes_the_place_of_an_earlier_one() -> None:
    assert told(Verdict.DRIFT, Verdict.OK) == found(Verdict.OK, 1)


def test_since_is_the_first_of_the_verdicts_in_a_row_that_say_so() -> None:
    stands = told(Verdict.OK, Verdict.SUSPECT, Verdict.SUSPECT, Verdict.INCONCLUSIVE, Verdict.SUSPECT)
    assert stands == replace(found(Verdict.SUSPECT, 4), since=AT + HOUR)


def test_what_says_nothing_leaves_what_says_something() -> None:
    assert told(Verdict.OK, Verdict.INCONCLUSIVE, Verdict.INAPPLICABLE) == found(Verdict.OK, 0)
    assert told(Verdict.INAPPLICABLE, Verdict.INCONCLUSIVE) == found(Verdict.INCONCLUSIVE, 1)


@settings(max_examples=50)
@given(st.lists(VERDICTS, min_size=1, max_size=8))
def test_what_stands_is_the_last_verdict_that_says_anything(verdicts: list[Verdict]) -> None:
    saying = [one for one in verdicts if one in (Verdict.OK, Verdict.SUSPECT, Verdict.DRIFT)]
    assert told(*verdicts).verdict is (saying or verdicts)[-1]


def test_a_suite_that_is_well_hides_no_suspicion_of_the_fidelity() -> None:
    suspicion = found(Verdict.SUSPECT, -5, metric="fidelity")
    suite = found(Verdict.OK, probe=ProbeKind.EVALS, metric="evals", suite="night")
    stand = stand_of([suite, suspicion], NOTHING_EXPECTED, AT)
    assert (stand.verdict, stand.saying) == (Verdict.SUSPECT, (suspicion,))
    assert (suspicion.name, suite.name) == ("fidelity", "evals of night")


@settings(max_examples=50)
@given(st.lists(standing_verdicts, max_size=6), standing_verdicts)
def test_a_verdict_of_another_probe_never_improves_the_state(
    standing: list[StandingVerdict], other: StandingVerdict
) -> None:
    before, after = (stand_of(each, NOTHING_EXPECTED, AT) for each in (standing, [*standing, other]))
    assert badness(after.verdict) >= badness(before.verdict)
    assert badness(after.verdict) == max(badness(one.verdict) for one in (*standing, other))


@settings(max_examples=50)
@given(st.lists(standing_verdicts, min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_the_order_in_which_verdicts_are_given_is_all_the_same(standing: list[StandingVerdict], random: Random) -> None:
    shuffled = sorted(standing, key=lambda _: random.random())
    one, other = stand_of(standing, HOURLY, AT), stand_of(shuffled, HOURLY, AT)
    assert (one.verdict, one.old, set(one.saying)) == (other.verdict, other.old, set(other.saying))


@settings(max_examples=50)
@given(st.lists(standing_verdicts, max_size=6))
def test_what_says_nothing_is_no_ok_and_hides_none(standing: list[StandingVerdict]) -> None:
    stand = stand_of(standing, NOTHING_EXPECTED, AT)
    assert all(one.verdict is stand.verdict for one in stand.saying) or stand.verdict is Verdict.INCONCLUSIVE
    saying = {one.verdict for one in standing if one.probe is not ProbeKind.LATENCY}
    assert stand.verdict is not Verdict.OK or Verdict.OK in saying or not saying
    assert Verdict.OK not in saying or stand.verdict is not Verdict.INCONCLUSIVE


def test_that_streams_are_fast_vouches_for_nothing_else() -> None:
    unknown = found(Verdict.INCONCLUSIVE)
    fast, slow = (
        found(verdict, probe=ProbeKind.LATENCY, metric="latency") for verdict in (Verdict.OK, Verdict.SUSPECT)
    )
    assert stand_of([unknown, fast], NOTHING_EXPECTED, AT).verdict is Verdict.INCONCLUSIVE
    assert stand_of([unknown, slow], NOTHING_EXPECTED, AT).saying == (slow,)
    assert stand_of([fast], NOTHING_EXPECTED, AT).verdict is Verdict.OK


def test_it_is_old_where_nothing_that_says_so_came_in_time() -> None:
    old, new = found(Verdict.OK, -4), found(Verdict.OK, -2, metric="fidelity")
    assert stand_of([old], HOURLY, AT).old
    assert not stand_of([old, new], HOURLY, AT).old
    assert stand_of([replace(old, verdict=Verdict.DRIFT), new], HOURLY, AT).old


def test_what_nothing_asks_on_schedule_is_never_old() -> None:
    assert not stand_of([found(Verdict.OK, -400, probe=ProbeKind.EVALS)], HOURLY, AT).old
    assert not stand_of([found(Verdict.OK, -400)], NOTHING_EXPECTED, AT).old


def test_where_nothing_applies_that_is_said() -> None:
    unknown, none = found(Verdict.INCONCLUSIVE), found(Verdict.INAPPLICABLE, metric="fidelity")
    assert stand_of([none], NOTHING_EXPECTED, AT).verdict is Verdict.INAPPLICABLE
    assert stand_of([none, unknown], NOTHING_EXPECTED, AT).verdict is Verdict.INCONCLUSIVE


def test_nothing_stands_of_what_was_never_judged() -> None:
    stand = stand_of([], HOURLY, AT)
    assert (stand.verdict, stand.saying, stand.old) == (None, (), False)


def test_fidelity_is_about_what_it_should_be() -> None:
    assert [is_fidelity(one) for one in ("fidelity", "fidelity.evals", "evals")] == [True, True, False]

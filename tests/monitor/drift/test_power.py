"""Delays: those of the design's tables, of benchmarks that simulate every response, and what more of anything does."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.simulated import delays as simulated
from benchmarks.simulated.lists import Lists
from monitor.drift.evidence import Scores, StreamKey, Tier
from monitor.drift.fingerprint import Enrolment, enrol
from monitor.drift.fingerprint_scores import Asked
from monitor.drift.likelihood_ratios import Counted, Sampler, fewest_events
from monitor.drift.made_up import Border, Cadence, Fingerprint, Lengths
from monitor.drift.offers import STREAMS, WITH, WITHOUT, Surroundings
from monitor.drift.power import EPOCH_DAYS, Delays, bet_delays, ratio_delays, sooner
from monitor.drift.response_noise import ResponseNoise
from monitor.drift.whitened_scores import whiten, whitened_evidence

HOURLY = Cadence(24, 8)
KEY = StreamKey("endpoint", Tier.LOGPROBS, "anchors-1")
ALL_DAYS = 28.5 * 24.0
# DETECTION.md §2.10: median rounds to 1,000, by noise and shift in nats; None: never in 30 days.
TABLE = {
    (0.01, 0.006): 371,
    (0.01, 0.035): 12,
    (0.01, 0.045): 10,
    (0.01, 0.071): 8,
    (0.01, 0.154): 8,
    (0.01, 0.46): 8,
    (0.03, 0.006): None,
    (0.03, 0.035): 36,
    (0.03, 0.045): 26,
    (0.03, 0.071): 17,
    (0.03, 0.154): 9,
    (0.03, 0.46): 8,
    (0.06, 0.006): None,
    (0.06, 0.035): 259,
    (0.06, 0.045): 102,
    (0.06, 0.071): 35,
    (0.06, 0.154): 15,
    (0.06, 0.46): 8,
}


def fingerprint(noise: float, shift: float, *, hours: float = ALL_DAYS, needs: float = 1_000.0) -> Delays:
    return bet_delays(Fingerprint(ResponseNoise(noise, 0.5, 0.0), shift), HOURLY, hours, needs)


@pytest.mark.parametrize(("noise", "shift"), TABLE)
def test_it_is_as_long_as_in_the_designs_table(noise: float, shift: float) -> None:
    """Within a sixth and a round, as levels are others; where the change is hardly more than lawful, which a thousandth
    of the level decides, within a factor of 1.6."""
    expected, found = TABLE[noise, shift], fingerprint(noise, shift)
    if expected is None:
        assert found.why_never is not None
        assert found.hours(0.5) == np.inf
    else:
        off = 1.6 if expected > 200 else 1.0 + 1.0 / 6.0
        assert expected / off - 1.0 <= found.hours(0.5) <= expected * off + 1.0


def test_goal_g3s_shares_of_another_model_take_its_queries() -> None:
    needs = Surroundings(WITHOUT, ResponseNoise()).needs(Tier.BORDER, 0.001)
    for share, most in ((1.0, 150), (0.5, 300), (0.3, 1_100 * 1.1)):
        found = bet_delays(Border(share), Cadence(24, 10), ALL_DAYS, needs)
        assert found.hours(0.5) * 10 <= most


def test_it_is_as_long_as_where_every_response_is_simulated() -> None:
    needs = Surroundings(WITH, ResponseNoise()).needs(Tier.LOGPROBS, 0.001)
    assert needs == simulated.needed(Tier.LOGPROBS, simulated.WITH, of_tier=len(STREAMS[Tier.LOGPROBS]))
    alone = simulated.needed(Tier.LOGPROBS, simulated.WITH)
    for shift in (0.071, 0.154):
        theirs = simulated.fingerprint_proofs(0.03, shift, 12, days=2).median
        assert fingerprint(0.03, shift, hours=48.0, needs=alone).hours(0.5) == pytest.approx(theirs, abs=1.0)


@pytest.mark.parametrize(
    ("noise", "shift"), [(0.002, 0.03), (0.03, 0.045), (0.03, 0.071), (0.06, 0.071), (0.06, 0.154)]
)
def test_lengths_score_what_enrolled_answers_do(noise: float, shift: float) -> None:
    """Of a whole path from answers on, with noise that was enrolled."""
    rng = np.random.default_rng(5)
    endpoint = Lists.of(rng, noise, 8)
    came = [one for hour in endpoint.hours(rng, 14 * 24) for one in hour]
    enrolled = enrol(came)
    assert isinstance(enrolled, Enrolment)
    whitened = whiten(enrolled, came)
    rounds = [
        hour for number in range(30) for hour in endpoint.moved(np.random.default_rng(number), shift).hours(rng, 3)
    ]
    says = [whitened_evidence(whitened, Asked(KEY, hour[0].at, hour)).says for hour in rounds]
    found = np.mean([one.mean for one in says if isinstance(one, Scores)])

    made_up = Lengths(ResponseNoise(noise, 0.5, 0.0), shift)
    assert made_up.changed(rng, 60, 1, HOURLY).mean() == pytest.approx(found, abs=0.1)
    assert made_up.lawful(rng, 60, 1, HOURLY).mean() == pytest.approx(0.0, abs=0.005)


def test_of_two_streams_the_one_that_proves_more_is_planned_with() -> None:
    """Whitened lengths see int8 sooner, and what is hardly more than the noise not at all."""
    needs = Surroundings(WITH, ResponseNoise()).needs(Tier.LOGPROBS, 0.001)
    for noise, shift, lengths_win in ((0.06, 0.071, True), (0.06, 0.045, False)):
        both = [kind(ResponseNoise(noise, 0.5, 0.0), shift) for kind in (Lengths, Fingerprint)]
        delays = [bet_delays(one, HOURLY, 200.0, needs) for one in both]
        assert (sooner(delays) is delays[0]) == lengths_win
    lawful = [kind(ResponseNoise(0.06, 0.5, 0.0), 0.006) for kind in (Lengths, Fingerprint)]
    never = [bet_delays(one, HOURLY, 200.0, needs) for one in lawful]
    assert sooner(never) is never[0]


def test_lengths_take_days_that_differ_for_lawful() -> None:
    for daily in (0.0, 0.15):
        made_up = Lengths(ResponseNoise(0.03, 0.5, daily), 0.0)
        lawful = made_up.lawful(np.random.default_rng(1), 200, 5, HOURLY)
        assert lawful.mean() < 0.005
        assert lawful.max() <= 1.0
        assert made_up.changed(np.random.default_rng(2), 200, 5, HOURLY).mean() == pytest.approx(
            lawful.mean(), abs=0.002
        )


def test_the_same_seed_gives_the_same_delays_and_another_one_nearly() -> None:
    tier = Fingerprint(ResponseNoise(), 0.071)
    first, again, other = (bet_delays(tier, HOURLY, 72.0, 1_000.0, seed=seed) for seed in (0, 0, 1))
    assert np.array_equal(first.rounds, again.rounds)
    assert not np.array_equal(first.rounds, other.rounds)
    assert first.hours(0.5) == pytest.approx(other.hours(0.5), rel=0.2)


def test_a_larger_change_less_noise_and_a_larger_alpha_take_less() -> None:
    by_shift = [fingerprint(0.03, shift, hours=200.0).hours(0.9) for shift in (0.045, 0.071, 0.154, 0.46)]
    by_noise = [fingerprint(noise, 0.071, hours=200.0).hours(0.9) for noise in (0.06, 0.03, 0.01)]
    by_needs = [fingerprint(0.03, 0.071, needs=needs).hours(0.9) for needs in (1e5, 1e3, 20.0)]
    for found in (by_shift, by_noise, by_needs):
        assert found == sorted(found, reverse=True)
        assert found[0] > found[-1]


def test_more_rounds_a_day_take_less_time_and_more_requests_no_more_rounds() -> None:
    tier = Fingerprint(ResponseNoise(), 0.071)
    hours = [bet_delays(tier, Cadence(rounds, 4), 400.0, 1_000.0).hours(0.5) for rounds in (12, 24, 48, 96)]
    assert hours == sorted(hours, reverse=True)
    few, many = (bet_delays(tier, Cadence(24, size), 400.0, 1_000.0).hours(0.5) for size in (1, 32))
    assert many <= few


def test_power_and_hours_are_two_ways_to_read_one_figure() -> None:
    found = fingerprint(0.06, 0.071, hours=200.0)
    for share in (0.5, 0.8, 0.9):
        assert found.power(found.hours(share)) >= share
        assert found.power(found.hours(share) - 1.0) < share
    assert found.hours(0.5, late=0.2) == pytest.approx(found.hours(0.5) + 0.2)


def test_what_is_not_looked_at_is_not_proven() -> None:
    assert fingerprint(0.03, 0.071, hours=5.0).power(5.0) == 0.0
    assert fingerprint(0.03, 0.46, hours=12.0).power(12.0) == 1.0


def test_a_lawful_change_is_never_proven_and_the_reason_has_both_means() -> None:
    why = fingerprint(0.06, 0.006).why_never
    assert why is not None
    moved, lawful = (float(word.strip(",")) for word in why.split() if word.strip(",").replace(".", "").isdigit())
    assert moved < lawful


def test_no_levels_come_of_rounds_that_leave_hours_of_the_day_out() -> None:
    found = bet_delays(Border(1.0), Cadence(2, 10), 48.0, 1_000.0)
    assert found.why_never is not None
    assert found.why_never.startswith("no levels")


@pytest.mark.parametrize(("cadence", "hours", "needs"), [(Cadence(0, 8), 1, 9), (HOURLY, 0, 9), (HOURLY, 1, 1)])
def test_what_cannot_be_meant_is_refused(cadence: Cadence, hours: float, needs: float) -> None:
    with pytest.raises(ValueError, match=r"a cadence has|delays are over"):
        bet_delays(Border(1.0), cadence, hours, needs)


@pytest.mark.parametrize("ratios", [Counted(0.02, 0.05), Counted(0.0063, 0.051, 60), Sampler(0.7)])
def test_counting_takes_no_less_than_its_bound_and_not_twice_as_much(ratios: Counted | Sampler) -> None:
    cadence = Cadence(24, max(1, round(40 / ratios.events)))
    found = ratio_delays(ratios, cadence, 28.0 * 24.0, 1_000.0)
    events = found.rounds.mean() * cadence.requests * ratios.events
    bound = fewest_events(ratios, 0.001, cadence.rounds_a_day * EPOCH_DAYS)
    # A round is whole, and what was staked before is at work: not all of log H has to be paid.
    assert 0.6 * bound <= events <= 2.0 * bound + cadence.requests * ratios.events


def test_counting_what_is_lawful_proves_nothing() -> None:
    assert ratio_delays(Counted(0.02, 0.02), HOURLY, 100.0, 1_000.0).why_never is not None
    assert ratio_delays(Counted(0.02, 0.01), HOURLY, 100.0, 1_000.0).hours(0.5) == np.inf

"""Plans: the cheapest cadence that does, and that more of what is wanted never costs less."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.drift.evidence import Tier
from monitor.drift.made_up import Cadence
from monitor.drift.offers import WITH, WITHOUT, Cost, Offer, Prices, Surroundings, Wanted, simulation
from monitor.drift.planning import Plan, TierPlan, plan, tier_plan
from monitor.drift.response_noise import ResponseNoise
from monitor.drift.targets import target_of

PRICES = Prices(3.0, 12.0)
AROUND = Surroundings(WITH, ResponseNoise(0.03, 0.5, 0.0))
LOGPROBS = Offer(Tier.LOGPROBS, (4, 12, 24, 48, 96), (4, 16), 55.0, 1.0, probe="logprobs")
SAMPLER = Offer(Tier.SAMPLING, (1, 4, 24, 48), (25, 100), 55.0, 1.0, probe="sampling")
TOOLS = Offer(Tier.CAPABILITY, (1, 4, 24), (100,), 700.0, 200.0, sent=2.0, probe="tool_calls")


def of(detect: str, hours: float, *, around: Surroundings = AROUND, offer: Offer = LOGPROBS, **more: float) -> TierPlan:
    found = tier_plan(offer, target_of(detect, {}), around, Wanted(hours, **more), PRICES)
    assert found is not None
    return found


def order(found: TierPlan) -> float:
    return found.cost.order if found.reached else float("inf")


@pytest.mark.parametrize("hours", [3.0, 6.0, 12.0])
def test_a_plan_does_what_it_says_and_no_cheaper_cadence_does(hours: float) -> None:
    found = of("int8", hours)
    assert found.reached
    assert found.median <= found.most <= hours
    simulate = simulation(target_of("int8", {}), Tier.LOGPROBS, AROUND, 0.001)
    assert simulate is not None
    cheaper = [
        Cadence(rounds, requests)
        for rounds in LOGPROBS.rounds
        for requests in LOGPROBS.requests
        if LOGPROBS.cost(Cadence(rounds, requests), PRICES).order < found.cost.order
    ]
    assert cheaper
    assert all(simulate(cadence, hours).power(hours) < 0.9 for cadence in cheaper)


# The ladder of cadences is coarse, and delays are much alike where days do not differ.
GROWING: dict[str, list[dict[str, Any]]] = {
    "less time": [{"hours": hours} for hours in (48.0, 12.0, 4.0)],
    "more power": [
        {"around": Surroundings(WITH, ResponseNoise(0.06)), "hours": 13.0, "power": power} for power in (0.5, 0.9)
    ],
    "a smaller alpha": [{"alpha": alpha} for alpha in (0.1, 0.001, 1e-6)],
    "a smaller change": [{"detect": detect} for detect in ("nf4", "fp8", "int8", "0.03nat")],
    "more noise": [
        {"around": Surroundings(WITH, ResponseNoise(noise, 0.5, 0.0))} for noise in (0.01, 0.03, 0.06, 0.12)
    ],
}


@pytest.mark.parametrize("growing", GROWING.values(), ids=GROWING)
def test_it_never_costs_less_to_want_more(growing: list[dict[str, Any]]) -> None:
    usual: dict[str, Any] = {"detect": "int8", "hours": 12.0}
    costs = [order(of(**{**usual, **wanted})) for wanted in growing]
    assert costs == sorted(costs)
    assert costs[0] < costs[-1]


def test_a_change_below_the_noise_is_not_reached_at_any_rate_and_a_larger_one_named() -> None:
    found = of("bf16-weights", 6.0)
    assert not found.reached
    assert found.cadence == Cadence(96, 16)
    assert "lawful" in found.why
    assert found.most == float("inf")
    assert found.smallest is not None
    assert of(f"{found.smallest:g}nat", 6.0).reached
    assert not of(f"{found.smallest / 1.3:g}nat", 6.0).reached


def test_a_change_that_takes_longer_says_how_long() -> None:
    found = of("int8", 1.0)
    assert not found.reached
    assert found.why == ""
    assert 1.0 < found.most < 24.0
    assert of("int8", found.most).reached


def test_rounds_that_come_late_count() -> None:
    assert of("nf4", 12.0, late=0.5).most >= of("nf4", 12.0).most
    assert of("nf4", 12.0, late=0.5).most <= 12.0


def test_a_tier_that_is_not_known_to_see_a_change_is_not_planned_with() -> None:
    assert tier_plan(LOGPROBS, target_of("temperature=0.9", {}), AROUND, Wanted(6.0)) is None
    assert tier_plan(SAMPLER, target_of("int8", {}), AROUND, Wanted(6.0)) is None


def test_border_inputs_are_for_endpoints_without_log_probabilities() -> None:
    border = Offer(Tier.BORDER, (4, 24, 48), (5, 10), 31.0, 1.0, probe="border")
    found = of("swap", 24.0, around=Surroundings(WITHOUT, ResponseNoise()), offer=border)
    assert found.reached
    with pytest.raises(KeyError):
        AROUND.needs(Tier.BORDER, 0.001)


def planned(*changes: str, hours: float = 24.0, offers: tuple[Offer, ...] = (LOGPROBS, SAMPLER, TOOLS)) -> Plan:
    return plan([target_of(change, {}) for change in changes], offers, AROUND, Wanted(hours), PRICES)


def test_of_several_changes_each_is_reached_and_tiers_in_one_schedule_are_asked_together() -> None:
    found = planned("int8", "schema=90%")
    assert found.reached
    assert set(found.chosen) == {Tier.LOGPROBS, Tier.CAPABILITY}
    assert len({cadence.rounds_a_day for cadence in found.chosen.values()}) == 1
    for option in found.options:
        assert found.chosen[option.tier].rounds_a_day >= option.cadence.rounds_a_day
    costs = [LOGPROBS.cost(found.chosen[Tier.LOGPROBS], PRICES), TOOLS.cost(found.chosen[Tier.CAPABILITY], PRICES)]
    assert found.cost.usd == pytest.approx(sum(cost.order for cost in costs))


def test_two_changes_for_one_tier_cost_no_more_than_the_dearer_one() -> None:
    both, dearer = planned("int8", "nf4"), planned("int8")
    assert both.chosen == dearer.chosen
    assert both.cost == dearer.cost


def test_tiers_that_see_different_changes_are_asked_together_as_often_as_one_needs() -> None:
    found = planned("temperature=0.7", "int8")
    alone = [of("int8", 24.0).cadence, of("temperature=0.7", 24.0, offer=SAMPLER).cadence]

    assert found.reached
    assert {one.rounds_a_day for one in found.chosen.values()} == {max(one.rounds_a_day for one in alone)}
    assert [found.chosen[tier].requests for tier in (Tier.LOGPROBS, Tier.SAMPLING)] == [one.requests for one in alone]


def test_the_cheapest_tier_that_sees_a_change_is_asked() -> None:
    greedy = Offer(Tier.GREEDY, (1, 2, 4), (5, 20), 1.0, 0.01, probe="greedy")
    around = replace(AROUND, mismatches=0.001)
    made = plan([target_of("nf4", {})], (LOGPROBS, greedy), around, Wanted(72.0), PRICES)

    assert all(one.reached for one in made.options)
    assert {*made.chosen} == {min(made.options, key=order).tier} == {Tier.GREEDY}


def test_where_one_change_is_not_reached_there_is_no_plan() -> None:
    found = planned("int8", "bf16-weights")
    assert not found.reached
    assert found.cost == Cost()
    assert {option.target for option in found.options} == {"int8", "bf16-weights"}
    assert not planned("schema=95%", offers=(LOGPROBS,)).reached


@settings(max_examples=50)
@given(
    rounds=st.integers(1, 300),
    requests=st.integers(1, 100),
    sent=st.floats(1.0, 4.0),
    prompt=st.floats(1.0, 2_000.0),
    completion=st.floats(1.0, 300.0),
)
def test_a_cost_is_its_requests_times_their_tokens(
    rounds: int, requests: int, sent: float, prompt: float, completion: float
) -> None:
    offer = Offer(Tier.LOGPROBS, (rounds,), (requests,), prompt, completion, "logprobs", sent)
    cost = offer.cost(Cadence(rounds, requests), PRICES)
    asked = rounds * requests * sent
    assert cost.requests == pytest.approx(asked)
    assert cost.usd == pytest.approx(asked * (prompt * 3.0 + completion * 12.0) / 1e6)
    twice = cost + cost
    assert twice.usd == pytest.approx(2.0 * (cost.usd or 0.0))
    assert offer.cost(Cadence(rounds, requests), None).usd is None


@pytest.mark.parametrize("wrong", [{"hours": 0.0}, {"hours": 721.0}, {"alpha": 0.5}, {"alpha": 0.0}, {"power": 1.0}])
def test_what_cannot_be_wanted_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"epoch has 30 days|not from"):
        Wanted(**{"hours": 6.0, **wrong})

"""From what is to be detected, and within how long, to what has to be asked: for each tier the cheapest cadence that
does it with the power wanted, and of these the cheapest that does all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import product

import numpy as np

from monitor.drift.evidence import Tier
from monitor.drift.likelihood_ratios import fewest_events
from monitor.drift.made_up import Cadence
from monitor.drift.offers import Cost, Offer, Prices, Simulation, Surroundings, Wanted, counting, simulation
from monitor.drift.power import BEFORE_DAYS, EPOCH_DAYS, Delays
from monitor.drift.targets import Target

# Shifts that are tried for the smallest one, in nats: each a quarter larger than the last.
_SHIFTS = tuple(float(nats) for nats in np.geomspace(0.01, 1.28, 22).round(3))
_WEEK_HOURS = 168.0
_EPOCH_HOURS = (EPOCH_DAYS - BEFORE_DAYS) * 24.0


@dataclass(frozen=True, slots=True)
class TierPlan:
    """`reached`: with this cadence, which is the cheapest one; otherwise it is the densest one, and `why` says what
    stands in the way. Hours count from right after a round; they are infinite where nothing comes in an epoch.
    `fewest`: events that any test needs which knows the alternative, of the tiers that count. `ready_days`: those of
    asking, before which the tier proves nothing."""

    tier: Tier
    target: str
    cadence: Cadence
    reached: bool
    median: float
    most: float
    cost: Cost
    probe: str
    why: str = ""
    smallest: float | None = None
    fewest: float | None = None
    ready_days: float = 0.0


def tier_plan(
    offer: Offer, target: Target, around: Surroundings, wanted: Wanted, prices: Prices | None = None, *, seed: int = 0
) -> TierPlan | None:
    """None where it is not known what the target does to the tier."""
    simulate = simulation(target, offer.tier, around, wanted.alpha, seed)
    if simulate is None:
        return None
    densest = Cadence(max(offer.rounds), max(offer.requests))
    found = _cheapest(offer, simulate, wanted, prices)
    delays = found or _at_last(simulate, densest, wanted)
    ratios = counting(target, offer.tier, around)
    horizon = delays.cadence.rounds_a_day * EPOCH_DAYS
    plan = TierPlan(
        tier=offer.tier,
        target=target.name,
        cadence=delays.cadence,
        reached=found is not None,
        median=delays.hours(0.5, late=wanted.late),
        most=delays.hours(wanted.power, late=wanted.late),
        cost=offer.cost(delays.cadence, prices),
        probe=offer.probe,
        fewest=None if ratios is None else fewest_events(ratios, wanted.alpha, horizon),
        ready_days=offer.ready_days(delays.cadence),
    )
    if plan.reached:
        return plan
    return replace(plan, why=delays.why_never or "", smallest=_smallest(offer, densest, target, around, wanted, seed))


def _at_last(simulate: Simulation, densest: Cadence, wanted: Wanted) -> Delays:
    """However long it takes, within an epoch: most of what is proven at all is within a week."""
    delays = simulate(densest, _WEEK_HOURS)
    if delays.why_never is not None or np.isfinite(delays.hours(wanted.power)):
        return delays
    return simulate(densest, _EPOCH_HOURS)


def _cheapest(offer: Offer, simulate: Simulation, wanted: Wanted, prices: Prices | None) -> Delays | None:
    best: Delays | None = None
    for requests in sorted(offer.requests):
        rounds = [
            one
            for one in sorted(offer.rounds)
            if best is None or _order(offer, Cadence(one, requests), prices) < _order(offer, best.cadence, prices)
        ]
        found = _sparsest(rounds, requests, simulate, wanted)
        best = found or best
    return best


def _order(offer: Offer, cadence: Cadence, prices: Prices | None) -> float:
    return offer.cost(cadence, prices).order


def _sparsest(rounds: Sequence[int], requests: int, simulate: Simulation, wanted: Wanted) -> Delays | None:
    """Of the fewest rounds a day that do; more rounds do as well."""
    low, high, found = 0, len(rounds), None
    while low < high:
        middle = (low + high) // 2
        delays = simulate(Cadence(rounds[middle], requests), wanted.hours)
        if delays.power(wanted.hours, late=wanted.late) >= wanted.power:
            high, found = middle, delays
        else:
            low = middle + 1
    return found


def _smallest(
    offer: Offer, densest: Cadence, target: Target, around: Surroundings, wanted: Wanted, seed: int
) -> float | None:
    """The smallest shift, in nats, that the densest cadence would have proven in time; T1 only."""
    if offer.tier is not Tier.LOGPROBS:
        return None

    def proven(nats: float) -> bool:
        simulate = simulation(replace(target, shift=nats), offer.tier, around, wanted.alpha, seed)
        if simulate is None:
            return False
        return simulate(densest, wanted.hours).power(wanted.hours, late=wanted.late) >= wanted.power

    low, high = 0, len(_SHIFTS)
    while low < high:
        middle = (low + high) // 2
        if proven(_SHIFTS[middle]):
            high = middle
        else:
            low = middle + 1
    return _SHIFTS[low] if low < len(_SHIFTS) else None


@dataclass(frozen=True, slots=True)
class Plan:
    """`options`: of every target and tier, reached or not; `chosen`: the tiers that are asked and how often, empty
    where a target is not reached by any; `cost`: of all of them."""

    wanted: Wanted
    options: tuple[TierPlan, ...]
    chosen: Mapping[Tier, Cadence]
    cost: Cost

    @property
    def reached(self) -> bool:
        return bool(self.chosen)


def plan(
    targets: Sequence[Target],
    offers: Sequence[Offer],
    around: Surroundings,
    wanted: Wanted,
    prices: Prices | None = None,
    *,
    seed: int = 0,
) -> Plan:
    """The cheapest of all ways to reach each target by one tier. All are asked together: one schedule holds for an
    endpoint."""
    made = [tier_plan(offer, target, around, wanted, prices, seed=seed) for target in targets for offer in offers]
    options = [one for one in made if one is not None]
    ways = [_ways(target, options) for target in targets]
    priced = {offer.tier: offer for offer in offers}
    together = [_together(way) for way in product(*ways)]
    if not together or not all(ways):
        return Plan(wanted, tuple(options), {}, Cost())
    costs = [_cost(chosen, priced, prices) for chosen in together]
    least = min(range(len(costs)), key=lambda place: costs[place].order)
    return Plan(wanted, tuple(options), together[least], costs[least])


def _ways(target: Target, options: Iterable[TierPlan]) -> list[TierPlan]:
    return [one for one in options if one.target == target.name and one.reached]


def _together(way: Sequence[TierPlan]) -> dict[Tier, Cadence]:
    rounds = max((one.cadence.rounds_a_day for one in way), default=0)
    chosen: dict[Tier, Cadence] = {}
    for one in way:
        known = chosen.get(one.tier, Cadence(rounds, 0))
        chosen[one.tier] = Cadence(rounds, max(known.requests, one.cadence.requests))
    return chosen


def _cost(chosen: Mapping[Tier, Cadence], offers: Mapping[Tier, Offer], prices: Prices | None) -> Cost:
    return reduce(Cost.__add__, (offers[tier].cost(cadence, prices) for tier, cadence in chosen.items()))

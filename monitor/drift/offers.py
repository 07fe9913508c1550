"""How each tier may be asked, what that costs, and how long it takes to prove a change with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from monitor.drift.anchors import SCORED
from monitor.drift.decision import weights
from monitor.drift.evidence import StreamKey, Tier
from monitor.drift.levels import DAYS
from monitor.drift.likelihood_ratios import Counted, Ratios, Sampler
from monitor.drift.made_up import DAY_RATES, Border, Cadence, Fingerprint, Lengths
from monitor.drift.power import EPOCH_DAYS, Delays, bet_delays, ratio_delays, sooner
from monitor.drift.response_noise import ResponseNoise
from monitor.drift.single_use import NAME as SINGLE_USE
from monitor.drift.targets import Target

# Of an endpoint that returns log-probabilities, and of one that does not.
WITH = (Tier.PROTOCOL, Tier.LOGPROBS, Tier.GREEDY, Tier.SAMPLING, Tier.DISTRIBUTION, Tier.CAPABILITY)
WITHOUT = (Tier.PROTOCOL, Tier.BORDER, Tier.GREEDY, Tier.DISTRIBUTION, Tier.CAPABILITY)
# Tiers of which more than one stream is fed, at most.
STREAMS = {Tier.LOGPROBS: (*SCORED, SINGLE_USE)}
# Of a T3 answer, at most.
GREEDY_TOKENS = 200


@dataclass(frozen=True, slots=True)
class Prices:
    """US dollars for a million tokens."""

    prompt: float
    completion: float


# Where none are known, an answer's token counts as four of a prompt.
_RELATIVE = Prices(1.0, 4.0)


@dataclass(frozen=True, slots=True)
class Cost:
    """Of a day; `usd` is None without prices."""

    requests: float = 0.0
    prompt: float = 0.0
    completion: float = 0.0
    usd: float | None = None

    def __add__(self, other: Cost) -> Cost:
        usd = None if self.usd is None or other.usd is None else self.usd + other.usd
        return Cost(self.requests + other.requests, self.prompt + other.prompt, self.completion + other.completion, usd)

    @property
    def order(self) -> float:
        """What plans are compared by."""
        if self.usd is not None:
            return self.usd
        return self.prompt * _RELATIVE.prompt + self.completion * _RELATIVE.completion


@dataclass(frozen=True, slots=True)
class Offer:
    """How a tier may be asked. Tokens are those of a request; `sent` are the requests for each that is scored; `probe`
    is its name in a schedule; `enrols`: the rounds whose answers an enrolment takes, or a baseline."""

    tier: Tier
    rounds: tuple[int, ...]
    requests: tuple[int, ...]
    prompt: float
    completion: float
    probe: str
    sent: float = 1.0
    enrols: int = 0

    def asked(self, cadence: Cadence) -> int:
        """Requests of a round, those that are not scored too."""
        return round(cadence.requests * self.sent)

    def ready_days(self, cadence: Cadence) -> float:
        """Of asking, before which a stream bets on nothing: for an enrolment, and for the levels of scores. Rounds of
        anchors are scored by what they enrol; those that find border inputs ask others."""
        enrolling = self.enrols / cadence.rounds_a_day
        if self.tier is Tier.BORDER:
            return DAYS + enrolling
        return max(float(DAYS if self.tier is Tier.LOGPROBS else 0), enrolling)

    def cost(self, cadence: Cadence, prices: Prices | None) -> Cost:
        requests = cadence.requests_a_day * self.sent
        prompt, completion = requests * self.prompt, requests * self.completion
        usd = None if prices is None else (prompt * prices.prompt + completion * prices.completion) / 1e6
        return Cost(requests, prompt, completion, usd)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Proven within `hours` from right after a round in a share `power` of the cases, at `alpha` an epoch. `late`:
    the part of an interval by which rounds may come late."""

    hours: float
    alpha: float = 0.001
    power: float = 0.9
    late: float = 0.0

    def __post_init__(self) -> None:
        if not 0.0 < self.hours <= EPOCH_DAYS * 24.0:
            raise ValueError(f"within {self.hours:g} hours: an epoch has {EPOCH_DAYS} days")
        if not 1e-6 <= self.alpha <= 0.1:
            raise ValueError(f"α {self.alpha:g} is not from 1e-6 to 0.1")
        if not 0.5 <= self.power <= 0.99:
            raise ValueError(f"a power of {self.power:g} is not from 0.5 to 0.99")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is known of an endpoint: the tiers that it supports, its noise, T3's lawful share of mismatches and T6's of
    broken calls."""

    supported: tuple[Tier, ...]
    noise: ResponseNoise
    day_rates: tuple[float, float] = DAY_RATES
    mismatches: float = 0.0063
    broken: float = 0.02

    def needs(self, tier: Tier, alpha: float) -> float:
        """What one of the tier's streams has to reach for the endpoint's average to be at 1/α, all others standing at
        1."""
        keys = [StreamKey("", one, name) for one in self.supported for name in STREAMS.get(one, ("",))]
        weight = weights(keys)[StreamKey("", tier, STREAMS.get(tier, ("",))[0])]
        return (1.0 / alpha - (1.0 - weight)) / weight


Simulation = Callable[[Cadence, float], Delays]


def counting(target: Target, tier: Tier, around: Surroundings) -> Ratios | None:
    """What a tier that counts sees of the target; None for the others, and where nothing is known."""
    match tier, target:
        case Tier.GREEDY, Target(mismatches=float() as mismatches):
            return Counted(around.mismatches, mismatches, GREEDY_TOKENS)
        case Tier.SAMPLING, Target(temperature=float() as temperature):
            return Sampler(temperature)
        case Tier.CAPABILITY, Target(broken=float() as broken):
            return Counted(around.broken, broken)
    return None


def simulation(target: Target, tier: Tier, around: Surroundings, alpha: float, seed: int = 0) -> Simulation | None:
    """A cadence and the hours to look for → delays; None where it is not known what the target does to the tier."""
    needs = around.needs(tier, alpha)
    if (ratios := counting(target, tier, around)) is not None:
        return lambda cadence, hours: ratio_delays(ratios, cadence, hours, needs, seed=seed)
    if tier is Tier.LOGPROBS and target.shift is not None:
        scores = (
            Lengths(around.noise, target.shift, target.share),
            Fingerprint(around.noise, target.shift, target.share),
        )
        return lambda cadence, hours: sooner(bet_delays(one, cadence, hours, needs, seed=seed) for one in scores)
    if tier is Tier.BORDER and target.flips is not None:
        border = Border(target.flips, around.day_rates)
        return lambda cadence, hours: bet_delays(border, cadence, hours, needs, seed=seed)
    return None

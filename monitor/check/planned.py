"""One endpoint's plan: what is known of it, which tiers it supports, and the schedule that asks what was chosen."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from monitor.check.askable import offers
from monitor.check.enrolled import Enrolled
from monitor.check.options import least_n
from monitor.config import EndpointConfig
from monitor.config.service import Schedule
from monitor.drift.evidence import Tier
from monitor.drift.offers import Offer, Prices, Surroundings, Wanted, simulation
from monitor.drift.planning import Plan, plan
from monitor.drift.response_noise import ResponseNoise
from monitor.drift.targets import Target
from probes.plan import ProbeKind
from reference_engine import TokenizerBackend

# Of greedy tokens that an allowed stack gives and the reference in fp32 does not: noise of 0.03 nat, and bf16
# (docs/benchmarks.md, "The lab of detection").
_MISMATCHES, _MISMATCHES_BF16 = 0.0063, 0.017
_LONGEST_ID = 63


@dataclass(frozen=True)
class EndpointPlan:
    """`schedule` is what the configuration takes, None where nothing was chosen; `guesses` are what is taken for
    granted in place of what is not known."""

    endpoint: EndpointConfig
    targets: tuple[Target, ...]
    around: Surroundings
    offers: Mapping[Tier, Offer]
    plan: Plan
    schedule: Mapping[str, Any] | None
    guesses: tuple[str, ...]


def planned(
    endpoint: EndpointConfig,
    tokenizer: TokenizerBackend | None,
    targets: Sequence[Target],
    wanted: Wanted,
    known: Enrolled,
    at: datetime,
) -> EndpointPlan:
    around = surroundings(endpoint, known)
    seen = [tier for tier in around.supported if any(simulation(one, tier, around, wanted.alpha) for one in targets)]
    found = offers(seen, tokenizer, at, has_reference=endpoint.reference_answers, rpm=endpoint.rpm)
    table = endpoint.prices
    prices = None if table is None else Prices(table.input_usd_per_mtok, table.output_usd_per_mtok)
    made = plan(targets, found, around, wanted, prices)
    by_tier = {one.tier: one for one in found}
    return EndpointPlan(
        endpoint,
        tuple(targets),
        around,
        by_tier,
        made,
        schedule_of(endpoint, made, by_tier),
        tuple(_guesses(endpoint, tokenizer, targets, known, seen)),
    )


def surroundings(endpoint: EndpointConfig, known: Enrolled) -> Surroundings:
    has_weights = _has_weights(endpoint)
    logprobs = known.logprobs is not False
    tiers = {
        Tier.PROTOCOL: True,
        Tier.LOGPROBS: logprobs,
        Tier.BORDER: not logprobs,
        Tier.GREEDY: has_weights,
        Tier.SAMPLING: logprobs,
        Tier.DISTRIBUTION: has_weights,
        Tier.CAPABILITY: True,
    }
    only_fp32 = endpoint.reference is not None and endpoint.reference.allowed_profiles == ("fp32",)
    return Surroundings(
        tuple(tier for tier, supported in tiers.items() if supported),
        known.noise or ResponseNoise(),
        mismatches=_MISMATCHES if only_fp32 else _MISMATCHES_BF16,
    )


def _has_weights(endpoint: EndpointConfig) -> bool:
    return endpoint.reference is not None and endpoint.reference.weights is not None


def schedule_of(endpoint: EndpointConfig, made: Plan, by_tier: Mapping[Tier, Offer]) -> dict[str, Any] | None:
    """One entry of `schedules`, as the file writes it; the first one that matches an endpoint is the one."""
    asked = made.chosen
    if not asked:
        return None
    probes = [by_tier[tier].probe for tier in asked]
    minutes = 24 * 60 // max(cadence.rounds_a_day for cadence in asked.values())
    entry: dict[str, Any] = {
        "id": re.sub(r"[^a-z0-9]+", "-", f"plan-{endpoint.provider}-{endpoint.model}")[:_LONGEST_ID].rstrip("-"),
        "match": {"provider": endpoint.provider, "model": endpoint.model},
        "every": f"{minutes // 60}h" if minutes % 60 == 0 else f"{minutes}m",
        # Accounting reads what the answers to logprobs used, and sends nothing.
        "probes": [one for probe in probes for one in _with_accounting(probe)],
    }
    for tier in (Tier.LOGPROBS, Tier.BORDER):
        if tier in asked:
            entry["n"] = max(least_n(entry["probes"]), entry.get("n", 0), by_tier[tier].asked(asked[tier]))
    Schedule.model_validate(entry)
    return entry


def _with_accounting(probe: str) -> list[str]:
    return [probe, ProbeKind.ACCOUNTING.value] if probe == ProbeKind.LOGPROBS.value else [probe]


def _guesses(
    endpoint: EndpointConfig,
    tokenizer: TokenizerBackend | None,
    targets: Sequence[Target],
    known: Enrolled,
    seen: Sequence[Tier],
) -> list[str]:
    found = []
    if Tier.LOGPROBS in seen:
        if known.noise is None:
            found.append("noise: no enrolled run shows it; 0.03 nat is taken, `monitor probe` measures it")
        elif not known.knows_days:
            found.append(f"noise: seen on {known.days} of 7 days; that days differ by 15 % is taken")
        if known.logprobs is None:
            found.append("log-probabilities: nothing was asked yet; that answers have them is taken")
    if Tier.BORDER in seen:
        found.append("border inputs: days whose rates are from Beta(4, 36) are taken")
    if Tier.CAPABILITY in seen:
        found.append("tool calls: that 2 % are broken before the change, and half of the answers hold a call, is taken")
    if Tier.SAMPLING in seen:
        found.append("sampler: questions whose next token has an entropy of 2.8 nat are taken")
    found += [
        f"{one.name}: its shift of {one.shift:g} nat is {one.source}"
        for one in targets
        if one.shift is not None and one.source not in ("as given", "this endpoint's reference")
    ]
    if tokenizer is None:
        found.append("tokens: without a tokenizer they are guessed from characters")
    if endpoint.reference is not None and endpoint.reference.endpoint is not None:
        name = endpoint.reference.endpoint.slug
        found.append(f"reference: {name} is asked the same; what that costs is not in these figures")
    if endpoint.prices is None:
        found.append("prices: none are configured; plans are compared with an answer's token at four of a prompt")
    return found

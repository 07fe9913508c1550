"""A plan as a table, as JSON, and as lines of the configuration: the verdict first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil, isfinite
from typing import Any

import yaml

from monitor.check.planned import EndpointPlan
from monitor.drift.evidence import Tier
from monitor.drift.offers import Cost
from monitor.drift.planning import TierPlan

SCHEMA = "monitor.plan/1"
NAMES = {
    Tier.LOGPROBS: "T1 log-probabilities",
    Tier.BORDER: "T2 border inputs",
    Tier.GREEDY: "T3 greedy answers",
    Tier.SAMPLING: "T4 sampler",
    Tier.CAPABILITY: "T6 tool calls",
}
_EVENTS = {Tier.GREEDY: "tokens", Tier.SAMPLING: "draws", Tier.CAPABILITY: "calls"}
_YEAR = 365.0


@dataclass(frozen=True)
class PlanDocument:
    """budget: US dollars that the provider may cost in a day, None without."""

    found: EndpointPlan
    budget: float | None = None

    @property
    def verdict(self) -> list[str]:
        endpoint, wanted = self.found.endpoint, self.found.plan.wanted
        promise = f"α {wanted.alpha:g} in 30 days, power {wanted.power:.0%}"
        lines = [f"{endpoint.provider} / {endpoint.model}: within {_hours(wanted.hours)}, {promise}"]
        lines += [self._said_of(target.name) for target in self.found.targets]
        if self.found.plan.reached:
            lines.append(f"Together {_cost_text(self.found.plan.cost)}.")
        return lines

    @property
    def table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        power = f"{self.found.plan.wanted.power:.0%}"
        columns = (
            "tier",
            "to detect",
            "asked",
            "median",
            power,
            "requests",
            "tokens in/out",
            "$ a day",
            "$ a year",
            "",
        )
        return columns, [self._row(option) for option in self.found.plan.options]

    @property
    def remarks(self) -> list[str]:
        """What there is to say of rows of the table."""
        return [
            f"{NAMES[option.tier]}, {option.target}: {said}"
            for option in self.found.plan.options
            if (said := "; ".join(self._remarks(option)))
        ]

    @property
    def notes(self) -> list[str]:
        lines = [f"taken for granted: {guess}" for guess in self.found.guesses]
        usd = self.found.plan.cost.usd
        if usd is not None and self.budget is not None and usd > self.budget:
            lines.append(f"over budget: a day may cost ${self.budget:g}")
        lines.append(
            "Requests, tokens and dollars are of a day. Delays count from right after a round and are those of streams "
            "(docs/detection.md), to which checks add; what one check is sure of is told at once."
        )
        if any(target.name == "template" for target in self.found.targets):
            lines.append("A template that changes how many tokens a prompt has shows in the first answer's usage (T0).")
        if self.found.schedule is not None:
            lines.append("For the configuration, before any other schedule that matches:")
        return lines

    @property
    def yaml(self) -> str:
        """Lines of the configuration file; empty without a schedule."""
        if self.found.schedule is None:
            return ""
        return yaml.safe_dump({"schedules": [dict(self.found.schedule)]}, sort_keys=False, allow_unicode=True)

    def to_json(self) -> dict[str, Any]:
        found, made = self.found, self.found.plan
        noise = found.around.noise
        return {
            "schema": SCHEMA,
            "provider": found.endpoint.provider,
            "model": found.endpoint.model,
            "reached": made.reached,
            "wanted": {"within_hours": made.wanted.hours, "alpha": made.wanted.alpha, "power": made.wanted.power},
            "noise": {"deviation": noise.deviation, "common": noise.common, "daily": noise.daily},
            "targets": [
                {"name": one.name, "shift": one.shift, "source": one.source, "said": self._said_of(one.name)}
                for one in found.targets
            ],
            "options": [self._option(option) for option in made.options],
            "chosen": [
                {
                    "tier": tier.value,
                    "rounds_a_day": cadence.rounds_a_day,
                    "requests": found.offers[tier].asked(cadence),
                }
                for tier, cadence in made.chosen.items()
            ],
            "cost": _cost(made.cost) if made.reached else None,
            "assumed": list(found.guesses),
            "schedule": None if found.schedule is None else dict(found.schedule),
        }

    def _said_of(self, name: str) -> str:
        options = [option for option in self.found.plan.options if option.target == name]
        chosen = [one for one in options if one.reached and one.tier in self.found.plan.chosen]
        reached = chosen or [one for one in options if one.reached]
        if reached:
            best = min(reached, key=lambda one: one.cost.order)
            return f"{name}: by {NAMES[best.tier]}, {self._asked(best)}: {_delays(best)}"
        if not options:
            return f"{name}: no tier that this endpoint supports is known to see it"
        best = min(options, key=lambda one: one.most)
        return f"{name}: not within {_hours(self.found.plan.wanted.hours)}{_why_not(best, self._asked(best))}"

    def _asked(self, option: TierPlan) -> str:
        offer = self.found.offers[option.tier]
        return f"{offer.asked(option.cadence)} every {_hours(option.cadence.interval_hours)}"

    def _row(self, option: TierPlan) -> tuple[str, ...]:
        usd = option.cost.usd
        return (
            NAMES[option.tier],
            option.target,
            self._asked(option),
            _hours(option.median),
            _hours(option.most),
            f"{option.cost.requests:,.0f}",
            f"{option.cost.prompt:,.0f}/{option.cost.completion:,.0f}",
            "–" if usd is None else f"{usd:.4f}",
            "–" if usd is None else f"{usd * _YEAR:,.2f}",
        )

    def _remarks(self, option: TierPlan) -> Iterator[str]:
        if not option.reached:
            yield f"not in time{_why_not(option, self._asked(option))}"
        if option.ready_days:
            yield f"proves nothing in its first {ceil(option.ready_days)} days, in which it learns what is lawful"
        if option.fewest is not None and isfinite(option.fewest):
            yield f"a test that knew the change would need {option.fewest:,.0f} {_EVENTS[option.tier]} on average"

    def _option(self, option: TierPlan) -> dict[str, Any]:
        return {
            "tier": option.tier.value,
            "target": option.target,
            "reached": option.reached,
            "rounds_a_day": option.cadence.rounds_a_day,
            "requests": self.found.offers[option.tier].asked(option.cadence),
            "median_hours": _finite(option.median),
            "power_hours": _finite(option.most),
            "cost": _cost(option.cost),
            "probe": option.probe,
            "why": option.why,
            "smallest_nats": option.smallest,
            "bound_events": _finite(option.fewest),
            "ready_days": option.ready_days,
        }


def _why_not(option: TierPlan, asked: str) -> str:
    """What follows "not within 6 h"."""
    would = "" if option.smallest is None else f"; {option.smallest:g} nat would be"
    if option.why:
        return f" at any rate: {option.why}{would}"
    if isfinite(option.most):
        return f": {asked}, the most that is planned with, takes {_hours(option.most)}{would}"
    return f": {asked}, the most that is planned with, does not prove it in 30 days{would}"


def _delays(option: TierPlan) -> str:
    return f"half within {_hours(option.median)}, the power asked for within {_hours(option.most)}"


def _hours(hours: float) -> str:
    if not isfinite(hours):
        return "never"
    if hours < 1.0:
        return f"{hours * 60.0:.0f} min"
    return f"{hours:.3g} h" if hours < 72.0 else f"{hours / 24.0:.3g} d"


def _cost_text(cost: Cost) -> str:
    usd = "" if cost.usd is None else f"${cost.usd * _YEAR:,.2f} a year, ${cost.usd:.4f} a day: "
    return f"{usd}{cost.requests:,.0f} requests, {cost.prompt:,.0f} tokens in and {cost.completion:,.0f} out a day"


def _cost(cost: Cost) -> Mapping[str, float | None]:
    usd = cost.usd
    return {
        "requests_a_day": cost.requests,
        "tokens_in_a_day": cost.prompt,
        "tokens_out_a_day": cost.completion,
        "usd_a_day": usd,
        "usd_a_year": None if usd is None else usd * _YEAR,
    }


def _finite(value: float | None) -> float | None:
    return value if value is not None and isfinite(value) else None

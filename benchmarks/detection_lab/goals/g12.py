"""G12: what detection costs at $3 and $12 per million tokens of prompts and answers: T0 with T1, and T2, for a year, as
planned for what G1 and G3 name; and one weekly audit by T3 and T5. Prompts are the probes' own, counted by the
reference's tokenizer; answers count with all they may have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from benchmarks.detection_lab.goals.figure import Figure, Lab
from monitor.check.askable import offer
from monitor.check.options import FULL, CheckOptions
from monitor.check.own import NONCE_BYTES
from monitor.check.plans import Drawn, Extent, estimate_plans, make_plans
from monitor.check.sizes import size_of
from monitor.config import Prices as PriceTable
from monitor.drift.evidence import Tier
from monitor.drift.made_up import Cadence
from monitor.drift.offers import GREEDY_TOKENS, WITH, WITHOUT, Offer, Prices, Surroundings, Wanted
from monitor.drift.planning import TierPlan, tier_plan
from monitor.drift.response_noise import ResponseNoise
from monitor.drift.targets import target_of
from monitor.usage import Tokens
from probes import grammar
from probes.load import schedule
from probes.plan import Item
from reference_engine import TokenizerBackend, load_tokenizer
from reference_engine.bundle import resolve_model

PROMPT_USD, ANSWER_USD = 3.0, 12.0
PRICES = Prices(PROMPT_USD, ANSWER_USD)
YEAR = 365.0
# G1's and G3's changes, as late as after a day.
WANTED = Wanted(24.0)
# What the tables of tiers have asked (DETECTION.md §2.2), whatever it is needed for.
AS_TABLED = {Tier.LOGPROBS: Cadence(24, 8), Tier.BORDER: Cadence(24, 10)}
AT = datetime(2026, 11, 30, tzinfo=UTC)
SEED, NONCE = bytes(32), bytes(NONCE_BYTES)
# T3: answers, and those to long contexts; T5: single-use prompts, and prompts that are answered several times.
GREEDY, LONG, LONG_TOKENS = 20, 4, 8_000
RUT, RUT_TOKENS = 100, 30
MMD, MMD_REPEATS, MMD_TOKENS = 25, 10, 50


def measure(lab: Lab) -> list[Figure]:
    tokenizer = load_tokenizer(resolve_model("bundled"))
    return [
        *of_tier(tokenizer, Tier.LOGPROBS, "int8", most=6.0, seed=lab.seed),
        *of_tier(tokenizer, Tier.BORDER, "swap", most=3.0, seed=lab.seed),
        Figure("weekly audit by T3 and T5: $", usd(audit(), tokenizer), most=1.0),
        Figure("monitor probe --suite full, once: $ at most", full_check(tokenizer), form=".2f"),
    ]


def of_tier(tokenizer: TokenizerBackend, tier: Tier, change: str, *, most: float, seed: int) -> Iterator[Figure]:
    """The plan's cost beside what else it might be; a plan that does not reach the change costs without end."""
    asked = offer(tier, tokenizer, AT, has_reference=False)
    if asked is None:
        raise ValueError(f"{tier} is not planned with")
    known = Surroundings(WITHOUT if tier is Tier.BORDER else WITH, ResponseNoise(daily=0.0))
    found = planned(asked, change, known, seed)
    name = f"{'T0 + T1' if tier is Tier.LOGPROBS else tier.value}, {change} in {WANTED.hours:g} h"
    yield Figure(f"{name}: tokens of a prompt", asked.prompt, form=".1f")
    yield Figure(f"{name}: requests a day", found.cost.requests if found.reached else float("inf"), form=".0f")
    yield Figure(f"{name}: hours, {WANTED.power:.0%} of cases", found.most, most=WANTED.hours, form=".1f")
    yield Figure(f"{name}: $ a year", yearly(asked, found), most=most, form=".2f")
    tabled = asked.cost(AS_TABLED[tier], PRICES).usd or 0.0
    yield Figure(f"{tier.value}, {AS_TABLED[tier].requests_a_day} requests a day: $ a year", tabled * YEAR, form=".2f")
    if tier is Tier.LOGPROBS:
        worse = planned(asked, change, Surroundings(WITH, ResponseNoise()), seed)
        yield Figure(f"{name}, days that differ by a sixth: $ a year", yearly(asked, worse), form=".2f")
        beside = offer(tier, tokenizer, AT, has_reference=True)
        if beside is not None:
            with_singles = planned(beside, change, known, seed)
            yield Figure(f"{name}, single-use prompts beside: $ a year", yearly(beside, with_singles), form=".2f")


def planned(asked: Offer, change: str, known: Surroundings, seed: int) -> TierPlan:
    found = tier_plan(asked, target_of(change, {}), known, WANTED, PRICES, seed=seed)
    if found is None:
        raise ValueError(f"{asked.tier} is not known to see {change}")
    return found


def yearly(asked: Offer, found: TierPlan) -> float:
    cost = asked.cost(found.cadence, PRICES).usd
    return float("inf") if cost is None or not found.reached else cost * YEAR


def audit() -> Iterator[Item]:
    """T3's greedy answers, four of them to long contexts, and T5's ranks and kernel (DETECTION.md §2.2)."""
    for prompt in grammar.long_answers(SEED, NONCE, GREEDY - LONG):
        yield _item(prompt.messages, GREEDY_TOKENS)
    for item in schedule.plan(SEED, NONCE, per_second=1.0, sizes=(LONG_TOKENS,), each=LONG, max_tokens=64).items:
        yield _item(item.request["messages"], GREEDY_TOKENS)
    for prompt in grammar.single_use(SEED, NONCE, RUT):
        yield _item(prompt.messages, RUT_TOKENS)
    for prompt in grammar.anchors(SEED, MMD):
        yield from [_item(prompt.messages, MMD_TOKENS)] * MMD_REPEATS


def _item(messages: Sequence[Mapping[str, Any]], max_tokens: int) -> Item:
    return Item("counted", 0, {"messages": [dict(one) for one in messages], "max_tokens": max_tokens}, anchor=False)


def usd(items: Iterable[Item], tokenizer: TokenizerBackend) -> float:
    tokens = sum((size_of(item, tokenizer) for item in items), Tokens())
    return (tokens.prompt * PROMPT_USD + tokens.completion * ANSWER_USD) / 1e6


def full_check(tokenizer: TokenizerBackend) -> float:
    prices = PriceTable(input_usd_per_mtok=PROMPT_USD, output_usd_per_mtok=ANSWER_USD)
    options = CheckOptions(probes=FULL, whole_suite=True)
    made = make_plans(
        options, Drawn(SEED, NONCE, AT), has_reference=True, extent=Extent(options.n), tokenizer=tokenizer
    )
    return estimate_plans(made.plans, tokenizer, prices).usd or 0.0

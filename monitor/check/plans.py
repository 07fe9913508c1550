"""What a check will send: the plans of its probes, and what they will cost."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from monitor.check.charge import Sizes
from monitor.check.options import LEAST_N, CheckOptions
from monitor.config import Prices
from monitor.config.asking import LADDER, STREAMS
from monitor.errors import BudgetError, UsageError
from monitor.usage import Tokens
from probes import accounting, latency, logprobs
from probes.plan import Item, Plan, ProbeKind
from reference_engine import TokenizerBackend

_STREAM_TOKENS = 16
# A token of English text is about four characters; a template adds about this many tokens.
_CHARACTERS_PER_TOKEN = 4
_TEMPLATE_TOKENS = 30


@dataclass(frozen=True, slots=True)
class Estimate:
    """What plans will send at most; `usd` is None without prices."""

    sizes: Sizes
    tokens: Tokens
    usd: float | None

    @property
    def requests(self) -> int:
        return len(self.sizes)


def make_plans(options: CheckOptions, seed: bytes, nonce: bytes, *, has_reference: bool, n: int) -> tuple[Plan, ...]:
    """The plans in sending order: of one seed and nonce always the same ones. Accounting reads the usage of the
    logprobs requests where there are any, and sends its own only without them."""
    plans: list[Plan] = []
    if ProbeKind.LOGPROBS in options.probes:
        confirms = options.confirms and has_reference
        plans.append(
            logprobs.confirming_plan(seed, nonce, n=n)
            if confirms
            else logprobs.plan(seed, nonce, n=n, has_reference=has_reference)
        )
    elif ProbeKind.ACCOUNTING in options.probes:
        plans.append(accounting.plan(seed, n=min(n, LADDER)))
    if ProbeKind.LATENCY in options.probes:
        plans.append(latency.plan(seed, nonce, streams=STREAMS, max_tokens=_STREAM_TOKENS))
    return tuple(plans)


def affordable_plans(
    options: CheckOptions,
    seed: bytes,
    nonce: bytes,
    *,
    tokenizer: TokenizerBackend | None,
    has_reference: bool,
    prices: Prices | None,
) -> tuple[tuple[Plan, ...], Estimate]:
    """The plans as asked for, or with as many fewer requests as the budget demands. Raises BudgetError where not even
    the fewest are affordable, UsageError where a limit in dollars is given but no prices are."""
    if options.budget.usd is not None and prices is None:
        raise UsageError(
            "--max-cost needs prices, and the configuration names none for this endpoint.",
            remedy="Add `prices: {input_usd_per_mtok: …, output_usd_per_mtok: …}` to its models entry.",
        )
    n = options.n
    while True:
        plans = make_plans(options, seed, nonce, has_reference=has_reference, n=n)
        estimate = estimate_plans(plans, tokenizer, prices)
        use = options.budget.most_used(estimate.requests, estimate.tokens, prices)
        if use is None or use.share >= 1.0:
            return plans, estimate
        if n == LEAST_N:
            raise BudgetError(
                f"The smallest check would take {use.words}.",
                remedy="Raise the limit, or choose fewer probes with --probe.",
            )
        n = max(LEAST_N, min(n - 1, int(n * use.share)))


def estimate_plans(plans: Sequence[Plan], tokenizer: TokenizerBackend | None, prices: Prices | None) -> Estimate:
    sizes = {
        (item.key, item.rep): Tokens(prompt_size(item, tokenizer), int(item.request.get("max_tokens", 1)))
        for plan in plans
        for item in plan.items
    }
    tokens = sum(sizes.values(), Tokens())
    return Estimate(sizes, tokens, tokens.usd(prices))


def prompt_size(item: Item, tokenizer: TokenizerBackend | None) -> int:
    """Prompt tokens: exact with a tokenizer, otherwise guessed from the characters."""
    if tokenizer is not None:
        return accounting.expected_prompt_tokens(tokenizer, item.request)
    return len(json.dumps(item.request.get("messages", []))) // _CHARACTERS_PER_TOKEN + _TEMPLATE_TOKENS

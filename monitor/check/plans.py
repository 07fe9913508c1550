"""What a check will send: the plans of its probes, and what they will cost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

from monitor.check.asked_beside import foreseen_beside
from monitor.check.budget import Budget, Spend
from monitor.check.options import CheckOptions
from monitor.check.sizes import Sizes, size_of
from monitor.config import EndpointConfig, Prices
from monitor.config.asking import LADDER, LEAST_N, LONGEST_ASKING_S, STREAMS
from monitor.errors import BudgetError, UsageError
from monitor.usage import Tokens
from probes import accounting, greedy, latency, logprobs, sampling
from probes.capabilities import TOKEN_LIMITS, Capabilities
from probes.plan import Item, Plan, ProbeKind
from reference_engine import TokenizerBackend

if TYPE_CHECKING:
    from monitor.check.border import Asked as Border
    from monitor.check.eval_suite import EvalPlan
    from probes.load.probe import Load
    from probes.loops.plan import LoopPlan
    from probes.tools.families.reasoning import Switch
    from probes.tools.families.suite import Instance
    from probes.tools.plan import ToolPlan

_STREAM_TOKENS = 16
# Of fewer tool-call requests some cases would be asked not even once.
_LEAST_PART = 0.2
# Of fewer eval items nothing is concluded.
_LEAST_ITEMS = 8


@dataclass(frozen=True, slots=True)
class Drawn:
    """What a check's prompts are drawn from: the installation's seed, the check's nonce, and the time it is for; what
    is known of the endpoint, which is asked in the form and at the rate that it takes; what calibration kept of T3's
    candidates, None where there was none; its border inputs, or what is missing to find them; how its reasoning is
    switched, None where it is not; and in `suspected` what a confirming check is about, whose `at` is the time of the
    check that it confirms."""

    seed: bytes
    nonce: bytes
    at: datetime
    capabilities: Capabilities = field(default_factory=Capabilities)
    suspected: frozenset[str] = frozenset()
    pool: Sequence[Instance] | None = None
    border: Border | None = None
    rpm: int | None = None
    switch: Switch | None = None


def switch_of(endpoint: EndpointConfig) -> Switch | None:
    """How the endpoint's model is told to reason, and not to; None where the configuration does not say."""
    if endpoint.reasoning is None:
        return None
    from probes.tools.families.reasoning import Switch

    return Switch(endpoint.reasoning.on, endpoint.reasoning.off)


@dataclass(frozen=True, slots=True)
class Estimate:
    """What plans will send at most; `usd` is None without prices. `beside`: what of it a reference that is another
    endpoint is asked as well, by its own prices."""

    sizes: Sizes
    tokens: Tokens
    usd: float | None
    beside: Estimate | None = None

    @property
    def requests(self) -> int:
        return len(self.sizes)

    @property
    def spend(self) -> Spend:
        """Without what is beside it."""
        return Spend(self.requests, self.tokens.total, self.usd or 0.0)

    @property
    def whole(self) -> Spend:
        return self.spend if self.beside is None else self.spend + self.beside.spend

    def with_beside(self, planned: Planned, reference: EndpointConfig) -> Estimate:
        return replace(self, beside=_estimate(foreseen_beside(planned), None, reference.prices))

    def parts(self, budget: Budget) -> tuple[Budget, Budget]:
        """What of a check's budget is the endpoint's, and what the reference's where that is asked anything: both
        together never exceed it."""
        if self.beside is None or not self.beside.requests:
            return budget, budget
        return budget.part(self.spend, self.beside.spend), budget.part(self.beside.spend, self.spend)


@dataclass(frozen=True, slots=True)
class Planned:
    """The plans in sending order, and the check's nonce; `tools` has the cases of the tool-call plan among them,
    `loops` the loops of the agent loops', `evals` the items of the private suite's; `load` is under which the streams
    go, None where they go one after another; `answer_tokens` what answers to cases and in loops are cut to, None for
    their usual room; `doubtful` is how many ambiguous prompts calibration kept, None without one; `border` is what the
    border probe is asked for."""

    plans: tuple[Plan, ...]
    nonce: bytes
    tools: ToolPlan | None = None
    evals: EvalPlan | None = None
    load: Load | None = None
    loops: LoopPlan | None = None
    answer_tokens: int | None = None
    doubtful: int | None = None
    border: Border | None = None

    @property
    def leaves_open(self) -> bool:
        """Whether it asks anything that the reference is asked too without saying how long an answer may be."""
        asked = [one.plan for one in (self.tools, self.evals) if one is not None]
        return any(item.request.keys().isdisjoint(TOKEN_LIMITS) for plan in asked for item in plan.items)

    @property
    def shares(self) -> int:
        """Into so many equal parts the check's error is divided: one for each probe, and one for what tool calls add up
        to with those of earlier checks."""
        return len(self.plans) + (self.tools is not None)


@dataclass(frozen=True, slots=True)
class Extent:
    """How much of what was asked for is planned: single-token requests, and the part of the tool-call requests, of
    the loops or of a private suite, which is not to be below `least`."""

    n: int
    part: float = 1.0
    least: float = _LEAST_PART

    def cut(self, share: float) -> Extent:
        return replace(
            self,
            n=max(min(self.n, LEAST_N), min(self.n - 1, int(self.n * share))),
            part=max(self.least, self.part * min(share, 0.98)),
        )

    @property
    def smallest(self) -> bool:
        return self.n <= LEAST_N and self.part <= self.least


def make_plans(
    options: CheckOptions,
    drawn: Drawn,
    *,
    has_reference: bool,
    extent: Extent,
    tokenizer: TokenizerBackend | None = None,
    beside: EndpointConfig | None = None,
) -> Planned:
    """Of one seed, nonce and time always the same ones. Accounting reads the usage of the logprobs requests where there
    are any, and sends its own only without them."""
    if options.evals is not None:
        from monitor.check.eval_suite import eval_plan

        evals = eval_plan(options.evals, extent.part)
        return Planned((evals.plan,), drawn.nonce, evals=evals)
    plans: list[Plan] = []
    seed, nonce, n, load = drawn.seed, drawn.nonce, extent.n, _load(options, drawn, extent)
    if ProbeKind.LOGPROBS in options.probes:
        if beside is not None:
            plans.append(logprobs.beside_plan(seed, nonce, n=n))
        elif options.confirms and has_reference:
            plans.append(logprobs.confirming_plan(seed, nonce, n=n))
        else:
            plans.append(logprobs.plan(seed, nonce, n=n, has_reference=has_reference))
    elif ProbeKind.ACCOUNTING in options.probes:
        plans.append(accounting.plan(seed, n=min(n, LADDER)))
    if ProbeKind.LATENCY in options.probes:
        plans.append(_latency(drawn, load))
    tools = _tools(options, drawn, extent) if ProbeKind.TOOL_CALLS in options.probes else None
    if tools is not None:
        plans.append(tools.plan)
    if ProbeKind.PROTOCOL in options.probes:
        plans.append(_protocol(options, drawn, extent, tokenizer))
    loops = _loops(options, drawn, extent) if ProbeKind.AGENT_LOOPS in options.probes else None
    if loops is not None:
        plans.append(loops.plan)
    if ProbeKind.SAMPLING in options.probes:
        plans.append(sampling.plan(seed, part=extent.part))
    if ProbeKind.GREEDY in options.probes:
        plans.append(greedy.plan(seed, nonce, part=extent.part))
    border = _border(drawn, confirms=options.confirms) if ProbeKind.BORDER in options.probes else None
    if border is not None:
        plans.append(_border_plan(drawn, border, extent, sum(len(plan.foreseen) for plan in plans)))
    cut = None if tools is None and loops is None else options.answer_tokens
    doubtful = None if tools is None or drawn.pool is None else len(drawn.pool)
    return Planned(
        tuple(plans),
        nonce,
        tools,
        load=load,
        loops=loops,
        answer_tokens=cut,
        doubtful=doubtful,
        border=border,
    )


def _load(options: CheckOptions, drawn: Drawn, extent: Extent) -> Load | None:
    if ProbeKind.LATENCY not in options.probes or not (options.load or options.whole_suite):
        return None
    # Here and below: a process that does not ask them has no use for what makes and judges them.
    from probes.load.probe import Load

    return (options.load or Load()).within(drawn.rpm).cut(extent.part)


def _latency(drawn: Drawn, load: Load | None) -> Plan:
    if load is None:
        return latency.plan(drawn.seed, drawn.nonce, streams=STREAMS, max_tokens=_STREAM_TOKENS)
    from probes.load import probe

    return probe.plan(drawn.seed, drawn.nonce, load)


def _tools(options: CheckOptions, drawn: Drawn, extent: Extent) -> ToolPlan:
    from monitor.check.tool_calls import tool_plan

    return tool_plan(
        drawn.seed,
        drawn.nonce,
        drawn.at,
        whole=options.whole_suite,
        part=extent.part,
        suspected=drawn.suspected,
        pool=drawn.pool,
        switch=drawn.switch,
        answer_tokens=options.answer_tokens,
    )


def _border(drawn: Drawn, *, confirms: bool) -> Border | None:
    """None where there is nothing to confirm: a confirming check finds no border inputs."""
    from monitor.check.border import nothing_known
    from monitor.drift.border_scores import BorderInputs

    found = nothing_known(drawn.seed) if drawn.border is None else drawn.border
    return None if confirms and not isinstance(found, BorderInputs) else found


def _border_plan(drawn: Drawn, border: Border, extent: Extent, others: int) -> Plan:
    from monitor.check.border import border_plan

    room = None if drawn.rpm is None else int(drawn.rpm * LONGEST_ASKING_S / 60.0) - others
    return border_plan(drawn.seed, drawn.nonce, border, n=extent.n, room=room, part=extent.part)


def _protocol(options: CheckOptions, drawn: Drawn, extent: Extent, tokenizer: TokenizerBackend | None) -> Plan:
    from monitor.check.protocol import protocol_plan

    return protocol_plan(
        drawn.seed,
        drawn.nonce,
        whole=options.whole_suite,
        part=extent.part,
        tokenizer=tokenizer,
        capabilities=drawn.capabilities,
    )


def _loops(options: CheckOptions, drawn: Drawn, extent: Extent) -> LoopPlan:
    from monitor.check.loops import loop_plan

    return loop_plan(
        drawn.seed,
        drawn.nonce,
        drawn.at,
        whole=options.whole_suite,
        part=extent.part,
        answer_tokens=options.answer_tokens,
    )


def affordable_plans(
    options: CheckOptions,
    drawn: Drawn,
    *,
    tokenizer: TokenizerBackend | None,
    has_reference: bool,
    prices: Prices | None,
    beside: EndpointConfig | None = None,
) -> tuple[Planned, Estimate]:
    """The plans as asked for, or with as many fewer requests as the budget demands; it has to do for a reference
    `beside` the endpoint as well. Raises BudgetError where not even the fewest are affordable, UsageError where a limit
    in dollars is given but no prices are."""
    ensure_prices(options.budget, prices, "this endpoint")
    extent = _whole(options)
    while True:
        planned = make_plans(
            options, drawn, has_reference=has_reference, extent=extent, tokenizer=tokenizer, beside=beside
        )
        estimate = estimate_plans(planned.plans, tokenizer, prices)
        if beside is not None:
            estimate = estimate.with_beside(planned, beside)
        spend = estimate.whole
        use = options.budget.most_used_of(spend.requests, spend.tokens, spend.usd)
        if use is None or use.share >= 1.0:
            return planned, estimate
        if extent.smallest:
            raise BudgetError(
                f"The smallest check would take {use.words}.",
                remedy="Raise the limit, or choose fewer probes with --probe.",
            )
        extent = extent.cut(use.share)


def _whole(options: CheckOptions) -> Extent:
    """Of a private suite any part may be asked, down to so few items that nothing could be concluded."""
    if options.evals is None:
        return Extent(options.n)
    return Extent(LEAST_N, least=min(1.0, _LEAST_ITEMS / max(1, options.evals.asks)))


def ensure_prices(budget: Budget, prices: Prices | None, whose: str) -> None:
    """Raises UsageError where dollars are limited, and nobody knows what they buy."""
    if budget.usd is not None and prices is None:
        raise UsageError(
            f"--max-cost needs prices, and the configuration names none for {whose}.",
            remedy="Add `prices: {input_usd_per_mtok: …, output_usd_per_mtok: …}` to its models entry.",
        )


def estimate_plans(plans: Sequence[Plan], tokenizer: TokenizerBackend | None, prices: Prices | None) -> Estimate:
    return _estimate([item for plan in plans for item in plan.foreseen], tokenizer, prices)


def _estimate(items: Iterable[Item], tokenizer: TokenizerBackend | None, prices: Prices | None) -> Estimate:
    sizes = {(item.key, item.rep): size_of(item, tokenizer) for item in items}
    tokens = sum(sizes.values(), Tokens())
    return Estimate(sizes, tokens, tokens.usd(prices))

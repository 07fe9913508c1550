"""The verdict document: the one object behind the table, the JSON, the reports and the exit code."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from monitor.drift.rule import Verdict
from probes.parameters.judgement import Effect

ENROLLED = "enrolled"

FailOn = Literal["drift", "suspect", "never"]


class _Document(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", ser_json_inf_nan="null", json_schema_serialization_defaults_required=True
    )


class CauseWeight(_Document):
    name: str
    weight: float


class TokenValue(_Document):
    """One alternative of an answer; `token` is its text with undecodable bytes replaced."""

    token: str
    logprob: float


class Shown(_Document):
    """What was seen of a prompt: the likeliest first tokens, or the count of its tokens."""

    tokens: tuple[TokenValue, ...] = ()
    prompt_tokens: int | None = None


class Telling(_Document):
    """One prompt that shows the change best: then, now and by the reference, and how to ask again."""

    item: str
    prompt: str
    move: float = Field(description="in the check's unit: mean |Δ| per token between then and now, or tokens")
    then: Shown
    now: Shown
    reference: Shown
    curl: str


class Check(_Document):
    """One probe's conclusion. `p` is adjusted for all that the check tests; `detectable` and `target` are in `unit`.
    `tokens` are those that the endpoint told of, null where it told of none."""

    probe: str
    verdict: Verdict
    reason: str = ""
    value: float | None = None
    unit: str | None = None
    interval: tuple[float, float] | None = None
    baseline: float | None = None
    detectable: float | None = None
    target: float | None = None
    p: float | None = None
    n: int = 0
    tokens: int | None = None
    causes: tuple[CauseWeight, ...] = ()
    telling: tuple[Telling, ...] = ()


class LatencyValue(_Document):
    """A quantile of one latency, over the streams of one size of prompts, in seconds (`tokens_per_chunk` in tokens);
    each end is a 95 % bound, null where n is too small to say."""

    metric: str = Field(description="ttft, ttfa, end_to_end, tpot, gap_median, gap_max or tokens_per_chunk")
    bucket: str = Field(description="of prompt tokens: `1k-4k`")
    quantile: float
    value: float | None
    interval: tuple[float | None, float | None]
    n: int


class LatencyMoveValue(_Document):
    """How much longer a time is than at the same hours of the weeks before, as a share; `held`: for three days, each of
    them alone."""

    metric: str
    shift: float
    interval: tuple[float, float]
    p: float
    hours: int
    held: bool


class LoadStatement(_Document):
    """Under which load the streams were measured: `late` of the `streams` left more than 50 ms after they were due,
    since `at_once` were on their way already or a try before had failed."""

    per_second: float
    at_once: int
    streams: int
    late: int
    caching: Literal["cached", "fresh", "unclear"]
    replays: int


class RateValue(_Document):
    """`numerator` of `denominator`, of answers to tool-call cases or eval items, of agent loops or of streams; null
    without a denominator. `excluded` counts what is in neither, by reason; `reference` is the reference's value over
    the same requests, of which it may have left out others: of `reference_denominator`."""

    name: str
    value: float | None
    numerator: float
    denominator: int
    excluded: dict[str, int] = {}
    interval: tuple[float, float] | None = None
    method: str
    reference: float | None = None
    reference_denominator: int | None = None


class LoopValue(_Document):
    """An exercise of the agent loops: `passed` of `trials` free loops; `excluded` counts those that are in neither, by
    reason, `ended` by why they ended, `defects` in how many each was seen. `fault` is what goes wrong in its world;
    `reference` is the share of the reference's loops that passed."""

    scenario: str
    rounds: int
    fault: str | None = None
    passed: int
    trials: int
    excluded: dict[str, int] = {}
    ended: dict[str, int] = {}
    defects: dict[str, int] = {}
    reference: float | None = None


class ParameterValue(_Document):
    """What a request's parameter was found to do. `error` bounds how probable that is where it is not so."""

    name: str
    effect: Effect
    before: Effect | None = None
    reason: str = ""
    counts: dict[str, int] = {}
    error: float | None = None


class VariantShare(_Document):
    """A serving stack behind the endpoint, by a digest of its habits, and its share of the answers."""

    variant: str
    share: float
    interval: tuple[float, float] | None = None
    n: int


class StackHint(_Document):
    """A serving stack that the answers remind of: a hint, and never more."""

    stack: str
    reasons: tuple[str, ...]


class FeatureMoveValue(_Document):
    feature: str
    before: str
    now: str
    p: float


class BillValue(_Document):
    """What the counted requests cost by the price table, and what of it was for tokens beyond what can have been."""

    requests: int
    microusd: int
    overcharged_microusd: int
    prompts_known: int
    completions_known: int


class ProtocolStatement(_Document):
    variants: tuple[VariantShare, ...] = ()
    hints: tuple[StackHint, ...] = ()
    moved: tuple[FeatureMoveValue, ...] = ()
    caching: Literal["cached", "fresh", "unclear"]
    replays: int
    bill: BillValue | None = None


class VariantRates(VariantShare):
    """One serving stack of several behind the endpoint: its share of a probe's answers, and the rates of these alone.
    `p`: how probable it is that so many more of them fail than of the others, by chance, over the cases that both
    answered; null without any."""

    probe: str
    rates: tuple[RateValue, ...] = ()
    p: float | None = None


class SightingValue(_Document):
    """What a run saw of one feature of a change: log-likelihoods of its states, the unchanged one first."""

    feature: str
    logs: tuple[float, ...]


class ExplainedValue(_Document):
    """What the reference says of causes that it computed: by candidate, nats beyond what was believed before, and
    log-odds of the size of the shift; `divergences` are nats a first token of one candidate from another."""

    likelihoods: dict[str, float]
    sizes: dict[str, float]
    divergences: tuple[tuple[str, str, float], ...] = ()
    ruler: str | None = None


class CauseStatement(_Document):
    """A cause of what changed, among all kinds that are known: what speaks for it and against it, and what it takes to
    tell it from the next one. Weights rank, and promise no rate of errors."""

    name: str
    kind: str
    weight: float
    evidence: tuple[str, ...] = ()
    against: tuple[str, ...] = ()
    apart: str | None = None


class Said(_Document):
    """What is said of runs beside their checks; `causes`, `ruler`: of their check as far as it was judged by then."""

    rates: tuple[RateValue, ...] = ()
    variants: tuple[VariantRates, ...] = ()
    loops: tuple[LoopValue, ...] = ()
    parameters: tuple[ParameterValue, ...] = ()
    protocol: ProtocolStatement | None = None
    sightings: tuple[SightingValue, ...] = ()
    explained: ExplainedValue | None = None
    causes: tuple[CauseStatement, ...] = ()
    ruler: str | None = None

    def beside(self, other: Said) -> Said:
        """Of causes what the later one says, which knows more."""
        return Said(
            rates=self.rates + other.rates,
            variants=self.variants + other.variants,
            loops=self.loops + other.loops,
            parameters=self.parameters + other.parameters,
            protocol=self.protocol or other.protocol,
            sightings=self.sightings + other.sightings,
            explained=self.explained or other.explained,
            causes=other.causes or self.causes,
            ruler=other.ruler or self.ruler,
        )


class FidelityStatement(_Document):
    """How far the endpoint is from its reference: a standing finding, said once, shown always."""

    verdict: Verdict
    reason: str = ""
    value: float | None = None
    unit: str = "nat"
    interval: tuple[float, float] | None = None
    lawful: float | None = None
    detectable: float | None = None
    target: float | None = None
    n: int = 0
    allowed: tuple[str, ...] = ()
    nearest: str | None = None
    ranking: tuple[CauseWeight, ...] = ()


class Cost(_Document):
    """Tokens are the endpoint's own count: null where it gave none, and a lower bound where it gave none of the answers
    in `without_usage`. `usd` is by these, and null without them or without prices in the configuration."""

    requests: int = 0
    tokens_in: int | None = 0
    tokens_out: int | None = 0
    without_usage: int = 0
    usd: float | None = None


class ReferenceStatement(_Document):
    """What was asked of a reference that is another endpoint, as `PROVIDER/MODEL`; its cost is by its own prices, and
    not in the document's. `reason`: why it was not asked everything, or how it moved since the baseline."""

    endpoint: str
    reason: str = ""
    served_models: tuple[str, ...] = ()
    served_fingerprints: tuple[str, ...] = ()
    cost: Cost


class QuirkCount(_Document):
    name: str
    count: int


class BaselineValue(_Document):
    """What a probe was compared with: so many accepted runs, the first of them when it was enrolled."""

    probe: str
    since: datetime
    runs: int


class VerdictDocument(_Document):
    schema_: Literal["monitor.probe/1"] = Field(default="monitor.probe/1", alias="schema")
    provider: str
    model: str
    endpoint: str
    served_model: str | None = None
    verdict: Verdict
    enrolled: bool = Field(default=False, description="this run became the endpoint's baseline")
    partial: bool = False
    baselines: tuple[BaselineValue, ...] = ()
    saved: bool = True
    checks: tuple[Check, ...] = ()
    causes: tuple[CauseStatement, ...] = ()
    ruler: str | None = Field(
        default=None, description="how far log-probabilities moved beside what profiles would make"
    )
    latency: tuple[LatencyValue, ...] = ()
    latency_moves: tuple[LatencyMoveValue, ...] = ()
    load: LoadStatement | None = None
    rates: tuple[RateValue, ...] = ()
    variants: tuple[VariantRates, ...] = ()
    loops: tuple[LoopValue, ...] = ()
    answer_tokens: int | None = Field(default=None, description="what answers to cases and in loops were cut to")
    reference_answer_tokens: int | None = Field(
        default=None, description="what the reference's answers to requests without a limit of their own were cut to"
    )
    parameters: tuple[ParameterValue, ...] = ()
    protocol: ProtocolStatement | None = None
    fidelity: FidelityStatement
    cost: Cost
    reference: ReferenceStatement | None = None
    quirks: tuple[QuirkCount, ...] = ()
    run_ids: tuple[str, ...] = ()
    started_at: datetime
    finished_at: datetime

    model_config = ConfigDict(populate_by_name=True)

    def to_json(self) -> str:
        return self.model_dump_json(by_alias=True, indent=2)


def fails(verdict: Verdict, fail_on: FailOn) -> bool:
    return verdict in {"drift": {Verdict.DRIFT}, "suspect": {Verdict.DRIFT, Verdict.SUSPECT}, "never": set()}[fail_on]


def exit_code(document: VerdictDocument, fail_on: FailOn) -> int:
    """0 pass, 3 drift (with `suspect` also suspect), 4 inconclusive; a run that only enrols passes."""
    if fail_on == "never":
        return 0
    if fails(document.verdict, fail_on):
        return 3
    if document.verdict in (Verdict.OK, Verdict.SUSPECT) or (document.enrolled and not document.partial):
        return 0
    return 4

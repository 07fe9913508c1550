"""The words and numbers of a verdict, the same in every form it is shown in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from monitor.drift.cause import Cause
from monitor.drift.rule import Verdict
from monitor.verdict import (
    CauseWeight,
    Check,
    Cost,
    FidelityStatement,
    LatencyMoveValue,
    LatencyValue,
    LoadStatement,
    LoopValue,
    ParameterValue,
    ProtocolStatement,
    RateValue,
    Shown,
    Telling,
    VariantRates,
    VerdictDocument,
)

_SHOWN_TOKENS = 4
_NAMED_WEIGHT = 0.05
_UNIT_DIGITS = {"nat": 3, "token": 0, "s": 3, "changes": 0}


def verdict_word(verdict: Verdict) -> str:
    return verdict.value.upper() if verdict in (Verdict.DRIFT, Verdict.SUSPECT) else verdict.value


def number(value: float | None, unit: str | None, *, signed: bool = False) -> str:
    if value is None:
        return "–"
    if value == float("inf"):
        return "∞"
    digits = _UNIT_DIGITS.get(unit or "", 3)
    return f"{value:+.{digits}f}" if signed else f"{value:.{digits}f}"


def with_unit(value: float | None, unit: str | None, *, signed: bool = False) -> str:
    text = number(value, unit, signed=signed)
    return text if value is None or unit is None else f"{text} {unit}"


def with_interval(text: str, interval: tuple[float, float] | None, unit: str | None) -> str:
    if interval is None:
        return text
    low, high = (number(end, unit) for end in interval)
    return f"{text} [{low}, {high}]"


def check_value(check: Check) -> str:
    """The value with its interval, as one cell."""
    text = with_unit(check.value, check.unit, signed=check.unit == "token")
    if check.value is None or check.unit == "token":
        return text
    return with_interval(text, check.interval, check.unit)


# The columns of `check_cells` and `fidelity_cells`.
MEASURED = ("check", "now", "baseline", "would see", "p", "n")


def check_cells(check: Check) -> tuple[str, ...]:
    baseline = with_unit(check.baseline, check.unit, signed=check.unit == "token")
    return (
        check.probe,
        check_value(check),
        baseline,
        number(check.detectable, check.unit),
        p_text(check.p),
        str(check.n),
    )


def fidelity_cells(fidelity: FidelityStatement) -> tuple[str, ...]:
    return (
        "fidelity",
        with_unit(fidelity.value, fidelity.unit),
        "",
        number(fidelity.detectable, fidelity.unit),
        "–",
        str(fidelity.n),
    )


# The rates that a person reads first, of the many there are.
_SHOWN_RATES = (
    "first_attempt_ok",
    "conformance_ok",
    "trigger_rate",
    "trigger_f1",
    "oracle_trigger_tpr",
    "oracle_trigger_fpr",
    "twin_agreement",
    "finish_agreement",
    "missed_as_text",
    "json_ok",
    "name_ok",
    "schema_ok",
    "schema_ok_lenient",
    "value_ok",
    "parallel_exact",
    "oracle_met",
    "loop_turn_right",
    "loop_pass",
    "loop_pass_hat_2",
    "loop_pass_hat_4",
    "loop_errors_recovered",
    "loop_instruction_resisted",
    "loop_steps_ratio",
)
# Of a private suite or one of its categories, and of its judge; of streams or those of one size.
_SHOWN_KINDS = frozenset({"accuracy", "judge", "goodput", "buffered"})


RATES = ("rate", "now", "of", "reference", "left out")


def rate_rows(rates: Sequence[RateValue]) -> list[tuple[str, ...]]:
    """As in RATES: the value with its interval, numerator and denominator, the reference's value and denominator, and
    what is in neither of the endpoint's, by reason."""
    named = {rate.name: rate for rate in rates}
    shown = [
        *(name for name in _SHOWN_RATES if name in named),
        *(name for name in named if name.partition(".")[0] in _SHOWN_KINDS),
    ]
    return [_rate_row(named[name]) for name in shown]


def _rate_row(rate: RateValue) -> tuple[str, ...]:
    counted = f"{rate.numerator:g}/{rate.denominator}" if rate.denominator else "–"
    now = with_interval(number(rate.value, "rate"), rate.interval, "rate")
    theirs = number(rate.reference, "rate")
    if rate.reference_denominator:
        theirs += f" of {rate.reference_denominator}"
    return rate.name, now, counted, theirs, _counts(rate.excluded)


LOOPS = ("loop", "passed", "reference", "ended", "defects", "left out")


def loop_rows(loops: Sequence[LoopValue]) -> list[tuple[str, ...]]:
    """As in LOOPS, an exercise each."""
    return [
        (
            " ".join(filter(None, (one.scenario, str(one.rounds), one.fault))),
            f"{one.passed}/{one.trials}" if one.trials else "–",
            number(one.reference, "rate"),
            *(_counts(counted) for counted in (one.ended, one.defects, one.excluded)),
        )
        for one in loops
    ]


def _counts(counted: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counted.items()))


VARIANTS = ("variant", "share", "of", "rates", "p")


def variant_rows(variants: Sequence[VariantRates]) -> list[tuple[str, ...]]:
    """As in VARIANTS, the variant with the probe whose answers these are."""
    return [
        (
            f"{one.probe} {variant_name(one.variant)}",
            with_interval(number(one.share, "rate"), one.interval, "rate"),
            str(one.n),
            ", ".join(f"{rate.name} {number(rate.value, 'rate')}" for rate in one.rates),
            p_text(one.p),
        )
        for one in variants
    ]


def variant_name(variant: str) -> str:
    """As much of a digest as tells a handful of them apart."""
    return variant[:8]


def answer_tokens_text(document: VerdictDocument) -> str | None:
    """What the rates of tool calls and agent loops are of, where they are not of whole answers."""
    if document.answer_tokens is None:
        return None
    most = document.answer_tokens
    return f"answers to tool-call cases and in agent loops were cut at {most} tokens, where the case leaves that open"


PARAMETERS = ("parameter", "now", "before", "why")


def parameter_rows(parameters: Sequence[ParameterValue]) -> list[tuple[str, ...]]:
    """As in PARAMETERS; `before` is left out where it is the same."""
    return [
        (
            one.name,
            one.effect.value,
            one.before.value if one.before is not None and one.before is not one.effect else "",
            one.reason,
        )
        for one in parameters
    ]


def said_tables(document: VerdictDocument) -> list[tuple[Sequence[str], Sequence[Sequence[str]]]]:
    """What is said beside the checks, with the names of the columns; without what there is nothing of."""
    tables = (
        (RATES, rate_rows(document.rates)),
        (VARIANTS, variant_rows(document.variants)),
        (LOOPS, loop_rows(document.loops)),
        (PARAMETERS, parameter_rows(document.parameters)),
    )
    return [(names, rows) for names, rows in tables if rows]


def protocol_rows(protocol: ProtocolStatement) -> list[tuple[str, str]]:
    """What is known of the serving stack: what it is about, and what it is."""
    rows = [("replays", f"{protocol.caching}, of {protocol.replays} pairs")]
    if len(protocol.variants) > 1:
        shares = ", ".join(f"{variant_name(one.variant)} {one.share:.0%}" for one in protocol.variants)
        rows.append(("variants", f"{len(protocol.variants)}: {shares}"))
    rows += [("stack", f"reminds of {hint.stack}: {', '.join(hint.reasons)}") for hint in protocol.hints]
    if protocol.bill is not None:
        bill = protocol.bill
        too_much = f"${bill.overcharged_microusd / 1e6:.6f} of it too much"
        rows.append(("bill", f"${bill.microusd / 1e6:.6f}, {too_much}"))
    return rows


def p_text(p: float | None) -> str:
    if p is None:
        return "–"
    return f"{p:.2g}" if p >= 1e-3 else f"{p:.0e}"


def cause_text(causes: Sequence[Cause | CauseWeight]) -> str:
    """The causes worth naming, most likely first."""
    return ", ".join(f"{cause.name} {cause.weight:.0%}" for cause in causes if cause.weight >= _NAMED_WEIGHT)


def latency_text(document: VerdictDocument) -> str:
    """`ttft p50 41 ms [38, 45] · p95 –`, in milliseconds; of streams under load a table tells."""
    words, values = [], document.latency if document.load is None else ()
    for metric in ("ttft", "tpot"):
        quantiles = [value for value in values if value.metric == metric]
        if quantiles:
            words.append(f"{metric} " + " · ".join(_quantile(value) for value in quantiles))
    return "; ".join(words)


def _quantile(value: LatencyValue) -> str:
    return f"p{value.quantile * 100:.0f} {_quantile_text(value)}"


def _quantile_text(value: LatencyValue) -> str:
    if value.value is None:
        return "–"
    scale, unit = (1.0, "") if value.metric == "tokens_per_chunk" else (1000.0, " ms")
    digits = 0 if value.value * scale >= 10.0 else 1
    low, high = ("–" if end is None else f"{end * scale:.{digits}f}" for end in value.interval)
    return f"{value.value * scale:.{digits}f}{unit} [{low}, {high}]"


LATENCY = ("prompt tokens", "time", "p50", "p95", "p99", "n")


def latency_rows(values: Sequence[LatencyValue]) -> list[tuple[str, ...]]:
    """As in LATENCY, a row for each time of each size of prompts."""
    rows: dict[tuple[str, str], list[LatencyValue]] = {}
    for value in values:
        rows.setdefault((value.bucket, value.metric), []).append(value)
    return [(*row, *map(_quantile_text, quantiles), str(quantiles[0].n)) for row, quantiles in rows.items()]


def load_text(load: LoadStatement) -> str:
    return (
        f"load      {load.streams} streams at {load.per_second:.2g} requests a second, at most {load.at_once} at once, "
        f"{load.late} left late; replays {load.caching}, of {load.replays} pairs"
    )


def move_text(move: LatencyMoveValue) -> str:
    """`ttft +35 % [22, 48] to the weeks before, in 60 hours`: hours of the last days that have such hours before."""
    low, high = (f"{100 * end:.0f}" for end in move.interval)
    held = ", on each of the last days" if move.held else ""
    return (
        f"{move.metric:<9} {100 * move.shift:+.0f} % [{low}, {high}] to the weeks before, in {move.hours} hours{held}"
    )


def fidelity_text(fidelity: FidelityStatement) -> str:
    """One sentence on the distance to the reference."""
    if fidelity.value is None:
        return fidelity.reason
    distance = with_interval(with_unit(fidelity.value, fidelity.unit), fidelity.interval, fidelity.unit)
    text = f"{distance} from the allowed {', '.join(fidelity.allowed)}"
    text += f" (lawful up to {number(fidelity.lawful, fidelity.unit)})"
    return f"{text}; nearest: {cause_text(fidelity.ranking)}" if fidelity.ranking else text


def telling_rows(telling: Telling) -> list[tuple[str, str]]:
    """`then`, `now` and `reference` with what was seen, those left out of which nothing is known."""
    rows = [("then", telling.then), ("now", telling.now), ("reference", telling.reference)]
    return [(name, text) for name, shown in rows if (text := _shown_text(shown))]


def _shown_text(shown: Shown) -> str:
    if shown.prompt_tokens is not None:
        return f"{shown.prompt_tokens} prompt tokens"
    return "  ".join(f"{token.token!r} {token.logprob:.3f}" for token in shown.tokens[:_SHOWN_TOKENS])


def cost_text(cost: Cost) -> str:
    usd = "price not configured" if cost.usd is None else f"${cost.usd:.6f}"
    return f"{cost.requests} requests, {cost.tokens_in} tokens in, {cost.tokens_out} out, {usd}"


def conclusion(document: VerdictDocument) -> str:
    """The last line: what this run means, in a sentence."""
    moved = [check for check in document.checks if check.verdict is document.verdict]
    names = " and ".join(check.probe for check in moved)
    match document.verdict:
        case Verdict.DRIFT:
            causes = cause_text(moved[0].causes)
            return f"DRIFT in {names}: the endpoint is not what it was" + (f"; looks like {causes}" if causes else "")
        case Verdict.SUSPECT if not moved:
            return "SUSPECT: outside every allowed profile of its reference"
        case Verdict.SUSPECT:
            return f"SUSPECT in {names}: more than chance would do, less than proof"
        case Verdict.OK if document.enrolled:
            return "ok, and enrolled: later runs are compared with this one"
        case Verdict.OK:
            return "ok: no drift"
    if document.enrolled:
        return "enrolled: later runs are compared with this one; nothing to conclude yet"
    return "inconclusive: too little to conclude anything"

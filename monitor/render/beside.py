"""What is said beside the checks and their rates: serving stacks, agent loops, parameters, the protocol."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from monitor.render.latency import latency_table
from monitor.render.rates import rate_text, rates_table
from monitor.render.table import Row, Table
from monitor.render.wording import counts_text, p_text, percent, percent_with, variant_name
from monitor.verdict import (
    CauseStatement,
    LoopValue,
    ParameterValue,
    ProtocolStatement,
    Said,
    VariantRates,
    VerdictDocument,
)
from probes.parameters.judgement import Effect

_CACHES = {"cached": "are answered from a cache", "fresh": "are answered afresh", "unclear": "tell nothing of a cache"}


def said_tables(said: Said) -> list[Table]:
    """Those with anything to say."""
    tables = (
        causes_table(said.causes, said.ruler),
        rates_table(said.rates),
        variants_table(said.variants),
        loops_table(said.loops),
        parameters_table(said.parameters),
        protocol_table(said.protocol),
    )
    return [table for table in tables if table]


def tables_of(document: VerdictDocument) -> list[Table]:
    """The same of a whole document, with the times under load."""
    said = Said(
        rates=document.rates,
        variants=document.variants,
        loops=document.loops,
        parameters=document.parameters,
        protocol=document.protocol,
        causes=document.causes,
        ruler=document.ruler,
    )
    return [table for table in (latency_table(document), *said_tables(said)) if table]


def causes_table(causes: Sequence[CauseStatement], ruler: str | None) -> Table:
    """The likeliest first."""
    rows = tuple(
        Row(
            (one.name, "" if one.kind == one.name else one.kind, percent(one.weight), "; ".join(one.evidence)),
            "; ".join([*(f"against it: {words}" for words in one.against), *([one.apart] if one.apart else [])]),
        )
        for one in causes
    )
    after = () if ruler is None else (f"how far log-probabilities moved: {ruler}",)
    return Table(
        "cause", "What changed, by all that was seen", ("cause", "kind", "weight", "speaks for it"), rows, after
    )


def answer_tokens_text(document: VerdictDocument) -> str:
    """What the rates of tool calls and agent loops are of, where they are not of whole answers."""
    if document.answer_tokens is None:
        return ""
    most = document.answer_tokens
    return f"answers to tool-call cases and in agent loops were cut at {most} tokens, where the case leaves that open"


def variants_table(variants: Sequence[VariantRates]) -> Table:
    rows = tuple(
        Row(
            (
                f"{one.probe} {variant_name(one.variant)}",
                percent_with(one.share, one.interval),
                str(one.n),
                p_text(one.p),
            ),
            ", ".join(f"{rate.name} {rate_text(rate)}" for rate in one.rates if rate.denominator),
        )
        for one in variants
    )
    names = ("serving stack", "share", "answers", "p that it fails more")
    return Table("variant", "By serving stack", names, rows, summary=f"{len(rows)} behind the endpoint")


def loops_table(loops: Sequence[LoopValue]) -> Table:
    """An exercise each; those of which no loop counts are named in a line."""
    rows = tuple(_loop(one) for one in loops if one.trials)
    idle = [f"{_exercise(one)} ({counts_text(one.excluded) or 'not asked'})" for one in loops if not one.trials]
    after = (f"no loop that counts: {', '.join(idle)}",) if idle else ()
    names = ("exercise of agent loops", "passed", "reference")
    return Table("loop", "Agent loops", names, rows, after, f"{len(loops)} exercises")


def _exercise(loop: LoopValue) -> str:
    return " ".join(filter(None, (loop.scenario, f"{loop.rounds} rounds", loop.fault)))


def _loop(loop: LoopValue) -> Row:
    told = (("ended", loop.ended), ("defects", loop.defects), ("left out", loop.excluded))
    note = "; ".join(f"{name}: {counts_text(counted)}" for name, counted in told if counted)
    return Row(
        (_exercise(loop), f"{loop.passed}/{loop.trials}", "" if loop.reference is None else percent(loop.reference)),
        note,
    )


def parameters_table(parameters: Sequence[ParameterValue]) -> Table:
    """`before` is left out where it is the same."""
    rows = tuple(
        Row(
            (
                one.name,
                one.effect.value,
                one.before.value if one.before is not None and one.before is not one.effect else "",
                one.reason,
            )
        )
        for one in parameters
    )
    counted = Counter(one.effect for one in parameters)
    summary = ", ".join(f"{counted[effect]} {effect}" for effect in Effect if counted[effect])
    return Table("parameter", "What parameters do", ("parameter", "now", "before", "why"), rows, summary=summary)


def protocol_table(protocol: ProtocolStatement | None) -> Table:
    rows = () if protocol is None else tuple(map(Row, protocol_rows(protocol)))
    hinted = [] if protocol is None else [hint.stack for hint in protocol.hints[:1]]
    summary = f"reminds of {hinted[0]}" if hinted else ""
    return Table("protocol", "Of the serving stack", ("about", "found"), rows, summary=summary)


def protocol_rows(protocol: ProtocolStatement) -> list[tuple[str, str]]:
    """What is known of the serving stack: what it is about, and what it is."""
    pairs = f"{protocol.replays} identical pair{'' if protocol.replays == 1 else 's'} of requests"
    rows = [("cache", f"{pairs} {_CACHES[protocol.caching]}" if protocol.replays else "not asked")]
    if len(protocol.variants) > 1:
        shares = ", ".join(f"{variant_name(one.variant)} {one.share:.0%}" for one in protocol.variants)
        rows.append(("variants", f"{len(protocol.variants)}: {shares}"))
    rows += [("stack", f"reminds of {hint.stack}: {', '.join(hint.reasons)}") for hint in protocol.hints]
    if protocol.bill is not None:
        bill = protocol.bill
        too_much = (
            f"${bill.overcharged_microusd / 1e6:.6f} of it too much" if bill.overcharged_microusd else "as counted"
        )
        rows.append(("bill", f"${bill.microusd / 1e6:.6f}, {too_much}"))
    return rows

"""What a check says beside its verdicts, as the tables of an endpoint's page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from monitor.render.wording import (
    LOOPS,
    PARAMETERS,
    RATES,
    VARIANTS,
    loop_rows,
    parameter_rows,
    protocol_rows,
    rate_rows,
    variant_rows,
)
from monitor.verdict import ParameterValue, Said
from probes.parameters.judgement import Effect

_PROTOCOL = ("of the stack", "found")


@dataclass(frozen=True, slots=True)
class SaidTable:
    """`summary` is what can be told of it in a line."""

    title: str
    summary: str
    names: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


def tables(said: Said) -> list[SaidTable]:
    """Those with anything to show."""
    return [table for table in _tables(said) if table.rows]


def _tables(said: Said) -> Iterator[SaidTable]:
    rates = rate_rows(said.rates)
    yield SaidTable("Rates", f"{len(rates)} of the check's answers", RATES, rates)
    yield SaidTable(
        "By serving stack", f"{len(said.variants)} behind the endpoint", VARIANTS, variant_rows(said.variants)
    )
    yield SaidTable("Agent loops", f"{len(said.loops)} exercises", LOOPS, loop_rows(said.loops))
    yield SaidTable("Parameters", _effects(said.parameters), PARAMETERS, parameter_rows(said.parameters))
    if said.protocol is not None:
        rows = protocol_rows(said.protocol)
        hinted = [hint.stack for hint in said.protocol.hints[:1]]
        yield SaidTable("Protocol", f"reminds of {hinted[0]}" if hinted else "", _PROTOCOL, rows)


def _effects(parameters: Sequence[ParameterValue]) -> str:
    counted = Counter(one.effect for one in parameters)
    return ", ".join(f"{counted[effect]} {effect}" for effect in Effect if counted[effect])

"""What was measured of all engines, put together: medians and their spread, ratios, and tables in Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from benchmarks.engines.job import CELLS
from benchmarks.engines.measure import SAME_BITS

RATIOS = ("scoring", "decode_32", "prefill", "decode_1")
_LESS_IS_BETTER = ("ttft",)


@dataclass
class Result:
    """One engine: its figures of each round, and what its bits do."""

    name: str
    ours: bool
    rounds: list[Mapping[str, float | None]] = field(default_factory=list)
    same_bits: Mapping[str, str] = field(default_factory=dict)
    about: Mapping[str, str] = field(default_factory=dict)

    def spread(self, cell: str) -> Spread | None:
        """None where the engine does not offer it, or was not asked."""
        values = [value for one in self.rounds if (value := one.get(cell)) is not None]
        return Spread(median(values), min(values), max(values)) if values else None

    @property
    def bitwise(self) -> bool:
        return bool(self.same_bits) and all(said == "yes" for said in self.same_bits.values())

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "ours": self.ours,
            "figures": {cell: found.as_json() if (found := self.spread(cell)) else None for cell in CELLS},
            "rounds": self.rounds,
            "same_bits": self.same_bits,
            "about": self.about,
        }


@dataclass(frozen=True)
class Spread:
    """Over the rounds."""

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        if self.low == self.high:
            return f"{self.median:,.0f}"
        return f"{self.median:,.0f} ({self.low:,.0f}–{self.high:,.0f})"

    def as_json(self) -> dict[str, float]:
        return {"median": self.median, "low": self.low, "high": self.high}


@dataclass(frozen=True)
class Ratio:
    """How many times as good our best bitwise profile is as the best peer, at whatever precision that computes."""

    value: float
    ours: Result
    peer: Result

    def as_json(self) -> dict[str, Any]:
        return {
            "value": self.value,
            "ours": self.ours.name,
            "peer": self.peer.name,
            "our_bits": self.ours.same_bits,
            "peer_bits": self.peer.same_bits,
        }


def ratio(results: Sequence[Result], cell: str) -> Ratio | None:
    """None where either side is missing."""
    ours = _best([one for one in results if one.ours and one.bitwise], cell)
    peer = _best([one for one in results if not one.ours], cell)
    if ours is None or peer is None:
        return None
    quotient = ours[0] / peer[0]
    return Ratio(1 / quotient if cell in _LESS_IS_BETTER else quotient, ours[1], peer[1])


def _best(results: Sequence[Result], cell: str) -> tuple[float, Result] | None:
    found = [(spread.median, one) for one in results if (spread := one.spread(cell))]
    choose = min if cell in _LESS_IS_BETTER else max
    return choose(found, key=lambda pair: pair[0], default=None)


def table(results: Sequence[Result], cells: Sequence[str]) -> list[str]:
    """A row an engine; below, under each column, our ratio to the best peer and whose bits stay the same."""
    ratios = [ratio(results, cell) for cell in cells]
    blank = [""] * len(SAME_BITS)
    return [
        *_head("engine", *map(_title, cells), *(f"same bits {way}" for way in SAME_BITS)),
        *(_row(one.name, *(_cell(one, cell) for cell in cells), *_bits(one)) for one in results),
        _row("**ours, bitwise ÷ best peer**", *(f"**{one.value:.2f}**" if one else "–" for one in ratios), *blank),
        _row("which", *(f"{one.ours.name} ÷ {one.peer.name}" if one else "–" for one in ratios), *blank),
        _row("same bits, ours / peer", *(f"yes / {_word(one.peer)}" if one else "–" for one in ratios), *blank),
    ]


def _title(cell: str) -> str:
    return "TTFT, ms" if cell == "ttft" else f"{cell.replace('_', ' at ')}, tokens/s"


def _cell(result: Result, cell: str) -> str:
    spread = result.spread(cell)
    return str(spread) if spread else "not offered"


def _bits(result: Result) -> list[str]:
    return [result.same_bits.get(way, "not measured") for way in SAME_BITS]


def _word(result: Result) -> str:
    if not result.same_bits:
        return "not measured"
    return "yes" if result.bitwise else "no"


@dataclass(frozen=True)
class Further:
    """A row of the second table; `value` has its unit with it and is None where `note` says why there is none."""

    measurement: str
    setting: str
    value: float | None
    note: str


def further_table(rows: Sequence[Further]) -> list[str]:
    return [
        *_head("measurement", "of", "ratio", "note"),
        *(
            _row(one.measurement, one.setting, "–" if one.value is None else f"{one.value:.2f}", one.note)
            for one in rows
        ),
    ]


def _head(*cells: str) -> list[str]:
    return [_row(*cells), _row(*("---" for _ in cells))]


def _row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"

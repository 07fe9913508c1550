"""Times as they are told: quantiles, the load they were taken under, and how they have moved."""

from __future__ import annotations

from collections.abc import Sequence

from monitor.render.table import Row, Table
from monitor.verdict import LatencyMoveValue, LatencyValue, LoadStatement, VerdictDocument

_NAMES = ("prompt tokens", "time", "p50", "p95", "p99", "n")


def seconds_text(value: float, interval: tuple[float | None, float | None] | None) -> str:
    """`516 ms [488, 698]`."""
    return _scaled(value, interval, 1000.0, " ms")


def _scaled(value: float, interval: tuple[float | None, float | None] | None, scale: float, unit: str) -> str:
    digits = 0 if value * scale >= 10.0 else 1
    text = f"{value * scale:.{digits}f}{unit}"
    if interval is None:
        return text
    low, high = ("–" if end is None else f"{end * scale:.{digits}f}" for end in interval)
    return f"{text} [{low}, {high}]"


def latency_text(document: VerdictDocument) -> str:
    """`ttft p95 61 ms [58, 95]; tpot p50 41 ms [38, 45]`, beside the median of the first tokens, which the check has.
    Of streams under load a table tells, and of too few there is no p95."""
    words, values = [], document.latency if document.load is None else ()
    for metric in ("ttft", "tpot"):
        of_metric = [value for value in values if value.metric == metric]
        told = [value for value in of_metric if value.value is not None]
        shown = [value for value in told if (metric, value.quantile) != ("ttft", 0.5)]
        if shown:
            words.append(f"{metric} " + " · ".join(map(_quantile, shown)))
        if of_metric and not told:
            words.append(f"{metric} not known")
    return "; ".join(words)


def _quantile(value: LatencyValue) -> str:
    return f"p{value.quantile * 100:.0f} {_quantile_text(value)}"


def _quantile_text(value: LatencyValue) -> str:
    if value.value is None:
        return "–"
    if value.metric == "tokens_per_chunk":
        return _scaled(value.value, value.interval, 1.0, "")
    return seconds_text(value.value, value.interval)


def latency_table(document: VerdictDocument) -> Table:
    """Of streams under load, a row for each time of each size of prompts."""
    if document.load is None:
        return Table("latency", "times under load", _NAMES, (), tuple(map(move_text, document.latency_moves)))
    values = document.latency
    unknown = dict.fromkeys(f"{value.metric} of {value.bucket}" for value in values if not value.n)
    after = [f"not known: {', '.join(unknown)}"] if unknown else []
    after += [load_text(document.load), *map(move_text, document.latency_moves)]
    return Table("latency", "times under load", _NAMES, _rows([one for one in values if one.n]), tuple(after))


def _rows(values: Sequence[LatencyValue]) -> tuple[Row, ...]:
    rows: dict[tuple[str, str], list[LatencyValue]] = {}
    for value in values:
        rows.setdefault((value.bucket, value.metric), []).append(value)
    return tuple(Row((*row, *map(_quantile_text, each), str(each[0].n))) for row, each in rows.items())


def load_text(load: LoadStatement) -> str:
    return (
        f"load: {load.streams} streams at {load.per_second:.2g} requests a second, at most {load.at_once} at once, "
        f"{load.late} left late; replays {load.caching}, of {load.replays} pairs"
    )


def move_text(move: LatencyMoveValue) -> str:
    """`ttft +35 % [22, 48] to the weeks before, in 60 hours`: hours of the last days that have such hours before."""
    low, high = (f"{100 * end:.0f}" for end in move.interval)
    held = ", on each of the last days" if move.held else ""
    return f"{move.metric} {100 * move.shift:+.0f} % [{low}, {high}] to the weeks before, in {move.hours} hours{held}"

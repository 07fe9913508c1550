"""Charts as SVG: one Vega-Lite specification for each theme and width, drawn on the server and kept by content."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

import altair as alt
import vl_convert

from dashboards.chart import Chart, Mark, Theme, Width
from monitor.store.series import Span

_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif"
_HEIGHT = 170
_KEPT = 256
_MOST_DOTS = 100
# So many marks could stand side by side.
_TOLD_APART = 70
# Wide enough for its label.
_NAMED_GAP = 0.09


_PIXELS = {Width.WIDE: 1130, Width.NARROW: 330}


@dataclass(frozen=True, slots=True)
class Palette:
    """The colours of one theme, told apart by people who see fewer (Okabe and Ito)."""

    text: str
    faint: str
    grid: str
    line: str
    lawful: str
    change: str
    alert: str
    gap: str


_PALETTES = {
    Theme.LIGHT: Palette(
        "#1c2733", "#5a6775", "#e4e8ec", "#0a5fa8", "#8a5a00", "#6d5a8c", "#b3261e", "#edf0f3"
    ),
    Theme.DARK: Palette(
        "#e3e8ee", "#98a4b1", "#2a323c", "#6db5f0", "#e0ac4f", "#b9a6dc", "#ff8f80", "#20272f"
    ),
}  # fmt: skip


def drawn(chart: Chart, theme: Theme, width: Width) -> str:
    """The chart as SVG text."""
    return _svg(json.dumps(specification(chart, theme, width), sort_keys=True))


@lru_cache(maxsize=_KEPT)
def _svg(specification: str) -> str:
    return str(vl_convert.vegalite_to_svg(specification))


def specification(chart: Chart, theme: Theme, width: Width) -> dict[str, Any]:
    palette = _PALETTES[theme]
    x, layers = _axis(chart, palette, width), []
    layers += _gap_layers(chart, palette, x)
    layers += _value_layers(chart, palette, x)
    layers += _lawful_layers(chart, palette)
    layers += _mark_layers(chart, palette, x)
    layered = alt.layer(*layers).properties(width=_PIXELS[width], height=_HEIGHT, background="transparent")
    found: dict[str, Any] = (
        layered.configure(font=_FONT, padding={"left": 2, "right": 12, "top": 4, "bottom": 2})
        .configure_view(stroke=None)
        .configure_axis(
            labelColor=palette.faint,
            labelFontSize=11.5,
            gridColor=palette.grid,
            domain=False,
            ticks=False,
            labelPadding=6,
            title=None,
        )
        .to_dict(validate=False)
    )
    return found


def _axis(chart: Chart, palette: Palette, width: Width) -> alt.X:
    short = chart.span.end - chart.span.start <= timedelta(days=2)
    domain = [_milliseconds(chart.span.start), _milliseconds(chart.span.end)]
    axis = alt.Axis(
        format="%H:%M" if short else "%-d %b",
        tickCount=4 if width is Width.NARROW else 10,
        grid=False,
        domain=True,
        domainColor=palette.grid,
        labelOverlap=True,
    )
    return alt.X("at:T", scale=alt.Scale(type="utc", domain=domain, nice=False), axis=axis)


def _y(chart: Chart) -> alt.Y:
    formatted = "d" if chart.metric.unit == "token" else ".2f" if _top(chart) >= 0.1 else ".3f"
    scale = alt.Scale(domain=[_bottom(chart), _top(chart)], nice=True, zero=True)
    axis = alt.Axis(format=formatted, tickCount=4, minExtent=38, tickMinStep=1 if formatted == "d" else alt.Undefined)
    return alt.Y("value:Q", scale=scale, axis=axis)


def _bottom(chart: Chart) -> float:
    return min(0.0, *(low for low, _ in _extents(chart)))


def _top(chart: Chart) -> float:
    least = 4.0 if chart.metric.unit == "token" else 2.0 * (chart.lawful or 0.01)
    return max(least, *(high for _, high in _extents(chart)))


def _extents(chart: Chart) -> list[tuple[float, float]]:
    """Where each point and its interval lie; `0, 0` where there are none."""
    found = [(p.value, p.value) if p.interval is None else (p.interval.low, p.interval.high) for p in chart.points]
    return found or [(0.0, 0.0)]


def _gap_layers(chart: Chart, palette: Palette, x: alt.X) -> list[alt.Chart]:
    if not chart.gaps:
        return []
    whole = chart.span.end - chart.span.start
    values = [
        {
            "at": _milliseconds(gap.start),
            "end": _milliseconds(gap.end),
            "middle": _milliseconds(gap.start + (gap.end - gap.start) / 2),
            "label": "no data" if (gap.end - gap.start) / whole >= _NAMED_GAP else "",
        }
        for gap in chart.gaps
    ]
    data = _data(values)
    box = data.mark_rect(color=palette.gap).encode(x=x, x2="end:T")
    middle = alt.X("middle:T", scale=x["scale"], axis=x["axis"])
    return [
        box,
        data.mark_text(color=palette.faint, fontSize=11.5, dy=10).encode(x=middle, y=alt.value(0), text="label:N"),
    ]


def _value_layers(chart: Chart, palette: Palette, x: alt.X) -> list[alt.Chart]:
    rows = _rows(chart)
    data, y, piece = _data(rows), _y(chart), alt.Detail("piece:N")
    low = alt.Y("low:Q", scale=y["scale"], axis=y["axis"])
    band = data.mark_area(color=palette.line, opacity=0.18).encode(x=x, y=low, y2="high:Q", detail=piece)
    line = data.mark_line(color=palette.line, strokeWidth=1.6, strokeJoin="round").encode(x=x, y=y, detail=piece)
    dots = _data(_dotted(rows)).mark_circle(color=palette.line, size=22, opacity=1).encode(x=x, y=y)
    return [band, line, dots]


def _dotted(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Points that get a dot: all of them where there are few, else those that no line would show."""
    if len(rows) <= _MOST_DOTS:
        return rows
    sizes = Counter(row["piece"] for row in rows)
    return [row for row in rows if sizes[row["piece"]] == 1]


def _rows(chart: Chart) -> list[dict[str, Any]]:
    """`piece` counts the stretches without a gap: a line joins nothing across one."""
    begins = [gap.end for gap in chart.gaps]
    return [
        {
            "at": _milliseconds(point.at),
            "value": point.value,
            "low": point.value if point.interval is None else point.interval.low,
            "high": point.value if point.interval is None else point.interval.high,
            "piece": bisect_right(begins, point.at),
        }
        for point in chart.points
    ]


def _lawful_layers(chart: Chart, palette: Palette) -> list[alt.Chart]:
    if chart.lawful is None:
        return []
    data = _data([{"value": chart.lawful, "label": "lawful"}])
    rule = data.mark_rule(color=palette.lawful, strokeDash=[5, 3], strokeWidth=1.2).encode(y="value:Q")
    text = data.mark_text(color=palette.lawful, fontSize=11.5, align="right", baseline="bottom", dx=-3, dy=-2)
    return [rule, text.encode(x=alt.value("width"), y="value:Q", text="label:N")]


def _mark_layers(chart: Chart, palette: Palette, x: alt.X) -> list[alt.Chart]:
    layers = []
    for alert, color, dash in ((False, palette.change, [2, 3]), (True, palette.alert, [1, 0])):
        values = _merged([mark for mark in chart.marks if mark.alert is alert], chart.span)
        if values:
            data = _data(values)
            text = data.mark_text(color=color, fontSize=11.5, fontWeight="bold", align="left", dx=4, dy=6)
            layers.append(data.mark_rule(color=color, strokeWidth=1.3, strokeDash=dash).encode(x=x))
            layers.append(text.encode(x=x, y=alt.value(0), text="letter:N"))
    return layers


def _merged(marks: Sequence[Mark], span: Span) -> list[dict[str, Any]]:
    """Marks too near to each other to be told apart become one, with the letters of all."""
    near, found = (span.end - span.start) / _TOLD_APART, list[tuple[datetime, str]]()
    for mark in marks:
        if found and mark.at - found[-1][0] < near:
            letters = found[-1][1]
            found[-1] = found[-1][0], letters if mark.letter in letters else letters + mark.letter
        else:
            found.append((mark.at, mark.letter))
    return [{"at": _milliseconds(at), "letter": letters} for at, letters in found]


def _data(values: list[dict[str, Any]]) -> alt.Chart:
    return alt.Chart(alt.InlineData(values=values))


def _milliseconds(at: datetime) -> int:
    return int(at.timestamp() * 1000)

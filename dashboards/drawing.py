"""Charts as SVG: one Vega-Lite specification for each theme and width, drawn on the server."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import altair as alt
import vl_convert

from dashboards.chart import Chart, Theme, Width
from dashboards.marks import PLOT_HEIGHT, ROW, Tag, strip, tags
from dashboards.palette import PALETTES, Palette

_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif"
_MOST_DOTS = 100
# Units that come whole.
_COUNTED = ("token", "changes")
# Wide enough for its label.
_NAMED_GAP = 0.09

_TICKS = {Width.WIDE: 10, Width.MEDIUM: 7, Width.NARROW: 4}


@dataclass(frozen=True, slots=True)
class Plot:
    """Where the values are drawn: from `top` to `bottom` in pixels; above it is room for the letters of marks."""

    x: alt.X
    width: float
    top: float
    bottom: float


def drawn(chart: Chart, theme: Theme, width: Width) -> str:
    """The chart as SVG text."""
    return str(vl_convert.vegalite_to_svg(specification(chart, theme, width)))


def specification(chart: Chart, theme: Theme, width: Width) -> dict[str, Any]:
    palette, letters = PALETTES[theme], tags(chart.marks, chart.span, width.plot)
    top = strip(letters)
    plot = Plot(_axis(chart, palette, width), width.plot, top, top + PLOT_HEIGHT)
    layers = [
        *_gap_layers(chart, palette, plot),
        *_value_layers(chart, palette, plot),
        *_lawful_layers(chart, palette),
        *_mark_layers(chart, letters, palette, plot),
    ]
    layered = alt.layer(*layers).properties(width=plot.width, height=plot.bottom, background="transparent")
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
        tickCount=_ticks(chart, width),
        grid=False,
        domain=True,
        domainColor=palette.grid,
        labelOverlap=True,
    )
    return alt.X("at:T", scale=alt.Scale(type="utc", domain=domain, nice=False), axis=axis)


def _ticks(chart: Chart, width: Width) -> int | dict[str, Any]:
    """About so many; in a week on days alone, for the half ones would have the same label."""
    if timedelta(days=2) < chart.span.end - chart.span.start < timedelta(days=10):
        return {"interval": "day", "step": 2 if width is Width.NARROW else 1}
    return _TICKS[width]


def _y(chart: Chart, plot: Plot) -> alt.Y:
    formatted = "d" if chart.metric.unit in _COUNTED else ".2f" if _top(chart) >= 0.1 else ".3f"
    scale = alt.Scale(domain=[_bottom(chart), _top(chart)], range=[plot.bottom, plot.top], nice=True, zero=True)
    axis = alt.Axis(format=formatted, tickCount=4, minExtent=38, tickMinStep=1 if formatted == "d" else alt.Undefined)
    return alt.Y("value:Q", scale=scale, axis=axis)


def _bottom(chart: Chart) -> float:
    return min(0.0, *(low for low, _ in _extents(chart)))


def _top(chart: Chart) -> float:
    least = 4.0 if chart.metric.unit in _COUNTED else 2.0 * (chart.lawful or 0.01)
    return max(least, *(high for _, high in _extents(chart)))


def _extents(chart: Chart) -> list[tuple[float, float]]:
    """Where each point and its interval lie; `0, 0` where there are none."""
    found = [(p.value, p.value) if p.interval is None else (p.interval.low, p.interval.high) for p in chart.points]
    return found or [(0.0, 0.0)]


def _gap_layers(chart: Chart, palette: Palette, plot: Plot) -> list[alt.Chart]:
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
    box = data.mark_rect(color=palette.gap).encode(
        x=plot.x, x2="end:T", y=alt.value(plot.top), y2=alt.value(plot.bottom)
    )
    middle = alt.X("middle:T", scale=plot.x["scale"], axis=plot.x["axis"])
    return [
        box,
        data.mark_text(color=palette.faint, fontSize=11.5, dy=10).encode(
            x=middle, y=alt.value(plot.top), text="label:N"
        ),
    ]


def _value_layers(chart: Chart, palette: Palette, plot: Plot) -> list[alt.Chart]:
    rows = _rows(chart)
    data, x, y, piece = _data(rows), plot.x, _y(chart, plot), alt.Detail("piece:N")
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
    text = data.mark_text(color=palette.lawful, fontSize=11.5, align="left", baseline="bottom", dx=3, dy=-2)
    return [rule, text.encode(x=alt.value(0), y="value:Q", text="label:N")]


def _mark_layers(chart: Chart, letters: Sequence[Tag], palette: Palette, plot: Plot) -> list[alt.Chart]:
    return [*_lines(chart, palette, plot), *_letters(chart, letters, palette, plot)]


def _lines(chart: Chart, palette: Palette, plot: Plot) -> Iterator[alt.Chart]:
    """Those of the alerts last, for they are whole: of two at one time, the letters tell."""
    for alert, color, dash in ((False, palette.change, [2, 3]), (True, palette.alert, [1, 0])):
        times = sorted({_milliseconds(mark.at) for mark in chart.marks if mark.alert is alert})
        if times:
            data = _data([{"at": at} for at in times])
            lines = data.mark_rule(color=color, strokeWidth=1.3, strokeDash=dash)
            yield lines.encode(x=plot.x, y=alt.value(plot.top), y2=alt.value(plot.bottom))


def _letters(chart: Chart, letters: Sequence[Tag], palette: Palette, plot: Plot) -> Iterator[alt.Chart]:
    start, length = _milliseconds(chart.span.start), (chart.span.end - chart.span.start) / timedelta(milliseconds=1)
    for row, alert in sorted({(tag.row, tag.alert) for tag in letters}):
        of_row = [tag for tag in letters if (tag.row, tag.alert) == (row, alert)]
        values = [{"at": start + tag.middle / plot.width * length, "letter": tag.text} for tag in of_row]
        color = palette.alert if alert else palette.change
        text = _data(values).mark_text(color=color, fontSize=11.5, fontWeight="bold", baseline="middle")
        yield text.encode(x=plot.x, y=alt.value(plot.top - (row + 0.5) * ROW), text="letter:N")


def _data(values: list[dict[str, Any]]) -> alt.Chart:
    return alt.Chart(alt.InlineData(values=values))


def _milliseconds(at: datetime) -> int:
    return int(at.timestamp() * 1000)

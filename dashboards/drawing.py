"""Charts as SVG: one Vega-Lite specification for each theme and width, drawn on the server."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from typing import Any

import altair as alt
import vl_convert

from dashboards.chart import Chart, Theme, Width
from dashboards.evidence_chart import EvidenceChart
from dashboards.evidence_drawing import of_evidence
from dashboards.frame import FONT_SIZE, Plot, data, framed, mark_layers, milliseconds, time_axis
from dashboards.marks import PLOT_HEIGHT, strip, tags
from dashboards.palette import PALETTES, Palette

_MOST_DOTS = 100
# Units that come whole.
_COUNTED = ("token", "changes")
# Wide enough for its label.
_NAMED_GAP = 0.09


def drawn(chart: Chart | EvidenceChart, theme: Theme, width: Width) -> str:
    """The chart as SVG text."""
    if isinstance(chart, EvidenceChart):
        return str(vl_convert.vegalite_to_svg(of_evidence(chart, theme, width)))
    return str(vl_convert.vegalite_to_svg(specification(chart, theme, width)))


def specification(chart: Chart, theme: Theme, width: Width) -> dict[str, Any]:
    palette, letters = PALETTES[theme], tags(chart.marks, chart.span, width.plot)
    top = strip(letters)
    plot = Plot(time_axis(chart.span, palette, width), width.plot, top, top + PLOT_HEIGHT)
    layers = [
        *_gap_layers(chart, palette, plot),
        *_value_layers(chart, palette, plot),
        *_lawful_layers(chart, palette),
        *mark_layers(chart.marks, letters, chart.span, palette, plot),
    ]
    return framed(layers, plot, palette)


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
            "at": milliseconds(gap.start),
            "end": milliseconds(gap.end),
            "middle": milliseconds(gap.start + (gap.end - gap.start) / 2),
            "label": "no data" if (gap.end - gap.start) / whole >= _NAMED_GAP else "",
        }
        for gap in chart.gaps
    ]
    boxes = data(values)
    box = boxes.mark_rect(color=palette.gap).encode(
        x=plot.x, x2="end:T", y=alt.value(plot.top), y2=alt.value(plot.bottom)
    )
    middle = alt.X("middle:T", scale=plot.x["scale"], axis=plot.x["axis"])
    return [
        box,
        boxes.mark_text(color=palette.faint, fontSize=FONT_SIZE, dy=10).encode(
            x=middle, y=alt.value(plot.top), text="label:N"
        ),
    ]


def _value_layers(chart: Chart, palette: Palette, plot: Plot) -> list[alt.Chart]:
    rows = _rows(chart)
    drawable, x, y, piece = data(rows), plot.x, _y(chart, plot), alt.Detail("piece:N")
    low = alt.Y("low:Q", scale=y["scale"], axis=y["axis"])
    band = drawable.mark_area(color=palette.line, opacity=0.18).encode(x=x, y=low, y2="high:Q", detail=piece)
    line = drawable.mark_line(color=palette.line, strokeWidth=1.6, strokeJoin="round").encode(x=x, y=y, detail=piece)
    dots = data(_dotted(rows)).mark_circle(color=palette.line, size=22, opacity=1).encode(x=x, y=y)
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
            "at": milliseconds(point.at),
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
    level = data([{"value": chart.lawful, "label": "lawful"}])
    rule = level.mark_rule(color=palette.lawful, strokeDash=[5, 3], strokeWidth=1.2).encode(y="value:Q")
    text = level.mark_text(color=palette.lawful, fontSize=FONT_SIZE, align="left", baseline="bottom", dx=3, dy=-2)
    return [rule, text.encode(x=alt.value(0), y="value:Q", text="label:N")]

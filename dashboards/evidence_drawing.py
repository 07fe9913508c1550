"""The chart of an endpoint's E: on a logarithmic axis, with the lines of the decision rule."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import altair as alt

from dashboards.chart import Theme, Width
from dashboards.evidence_chart import LINES, EvidenceChart
from dashboards.frame import FONT_SIZE, Plot, data, framed, mark_layers, milliseconds, time_axis
from dashboards.marks import PLOT_HEIGHT, strip, tags
from dashboards.palette import PALETTES, Palette

# An E below it says no more than one of it: what was staked is lost.
LEAST = 0.1
_MOST = 3_000.0
# Of all streams against those that count: closer, one line hides the other.
_APART = 1.05
_POWERS = tuple(10.0**power for power in range(-1, 14))
# As wide as its column.
_TICK = "datum.value >= 1e5 ? format(datum.value, '.0e') : format(datum.value, ',~g')"


def of_evidence(chart: EvidenceChart, theme: Theme, width: Width) -> dict[str, Any]:
    palette, letters = PALETTES[theme], tags(chart.marks, chart.span, width.plot)
    top = strip(letters)
    plot = Plot(time_axis(chart.span, palette, width), width.plot, top, top + PLOT_HEIGHT)
    layers = [
        *_change(chart, palette, plot),
        *_lines(chart, palette, plot),
        *_paths(chart, palette, plot),
        *mark_layers(chart.marks, letters, chart.span, palette, plot),
    ]
    return framed(layers, plot, palette)


def _y(chart: EvidenceChart, plot: Plot) -> alt.Y:
    most = max((max(step.worth, step.value) for step in chart.steps), default=1.0)
    top = max(_MOST, 2.0 * most)
    scale = alt.Scale(type="log", domain=[LEAST, top], range=[plot.bottom, plot.top], nice=False, clamp=True)
    powers = [power for power in _POWERS if power <= top]
    axis = alt.Axis(labelExpr=_TICK, values=powers, labelOverlap=True, minExtent=38)
    return alt.Y("value:Q", scale=scale, axis=axis)


def _change(chart: EvidenceChart, palette: Palette, plot: Plot) -> Iterator[alt.Chart]:
    if chart.change is None or chart.change.end < chart.span.start:
        return
    start = max(chart.change.start, chart.span.start)
    band = data([{"at": milliseconds(start), "end": milliseconds(chart.change.end)}])
    # The edge, so that an hour is seen within a month.
    yield band.mark_rect(color=palette.alert, opacity=0.2, stroke=palette.alert, strokeWidth=1.5).encode(
        x=plot.x, x2="end:T", y=alt.value(plot.top), y2=alt.value(plot.bottom)
    )


def _lines(chart: EvidenceChart, palette: Palette, plot: Plot) -> Iterator[alt.Chart]:
    colors = {"shown": palette.faint, "suspect": palette.lawful, "drift": palette.alert}
    for level, word in LINES:
        line = data([{"value": level, "label": f"{word} {level:,.0f}"}])
        y = _y(chart, plot)
        yield line.mark_rule(color=colors[word], strokeDash=[5, 3], strokeWidth=1.2).encode(y=y)
        text = line.mark_text(color=colors[word], fontSize=FONT_SIZE, align="left", baseline="bottom", dx=3, dy=-2)
        yield text.encode(x=alt.value(0), y=y, text="label:N")


def _paths(chart: EvidenceChart, palette: Palette, plot: Plot) -> Iterator[alt.Chart]:
    """Each epoch's, from 1 on: between two looks E is what it was at the first."""
    y, epoch = _y(chart, plot), alt.Detail("epoch:N")
    if any(step.value > _APART * step.worth for step in chart.steps):
        every = data(_rows(chart, every=True))
        yield every.mark_line(color=palette.faint, strokeWidth=1.2, strokeDash=[2, 2], interpolate="step-after").encode(
            x=plot.x, y=y, detail=epoch
        )
    counted = data(_rows(chart, every=False))
    yield counted.mark_line(color=palette.line, strokeWidth=1.6, interpolate="step-after").encode(
        x=plot.x, y=y, detail=epoch
    )
    last = data(_rows(chart, every=False)[-1:])
    yield last.mark_circle(color=palette.line, size=28, opacity=1).encode(x=plot.x, y=y)


def _rows(chart: EvidenceChart, *, every: bool) -> list[dict[str, Any]]:
    begun = [
        {"at": milliseconds(epoch.at), "value": 1.0, "epoch": epoch.number}
        for epoch in chart.epochs
        if epoch.at >= chart.span.start
    ]
    steps = [
        {"at": milliseconds(s.at), "value": max(LEAST, s.value if every else s.worth), "epoch": s.epoch}
        for s in chart.steps
    ]
    return sorted([*begun, *steps], key=lambda row: (row["epoch"], row["at"]))

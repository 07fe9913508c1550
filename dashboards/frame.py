"""What every chart has in common: time along its lower edge, lines with letters above them, colours and type."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import altair as alt

from dashboards.chart import Mark, Width
from dashboards.marks import ROW, Tag
from dashboards.palette import Palette
from monitor.store.series import Span

FONT_SIZE = 11.5
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif"
_TICKS = {Width.WIDE: 10, Width.MEDIUM: 7, Width.NARROW: 4}


@dataclass(frozen=True, slots=True)
class Plot:
    """Where the values are drawn: from `top` to `bottom` in pixels; above it is room for the letters of marks."""

    x: alt.X
    width: float
    top: float
    bottom: float


def framed(layers: Sequence[alt.Chart], plot: Plot, palette: Palette) -> dict[str, Any]:
    """The whole specification."""
    layered = alt.layer(*layers).properties(width=plot.width, height=plot.bottom, background="transparent")
    found: dict[str, Any] = (
        layered.configure(font=_FONT, padding={"left": 2, "right": 12, "top": 4, "bottom": 2})
        .configure_view(stroke=None)
        .configure_axis(
            labelColor=palette.faint,
            labelFontSize=FONT_SIZE,
            gridColor=palette.grid,
            domain=False,
            ticks=False,
            labelPadding=6,
            title=None,
        )
        .to_dict(validate=False)
    )
    return found


def time_axis(span: Span, palette: Palette, width: Width) -> alt.X:
    short = span.end - span.start <= timedelta(days=2)
    axis = alt.Axis(
        format="%H:%M" if short else "%-d %b",
        tickCount=_ticks(span, width),
        grid=False,
        domain=True,
        domainColor=palette.grid,
        labelOverlap=True,
    )
    domain = [milliseconds(span.start), milliseconds(span.end)]
    return alt.X("at:T", scale=alt.Scale(type="utc", domain=domain, nice=False), axis=axis)


def _ticks(span: Span, width: Width) -> int | dict[str, Any]:
    """About so many; in a week on days alone, for the half ones would have the same label."""
    if timedelta(days=2) < span.end - span.start < timedelta(days=10):
        return {"interval": "day", "step": 2 if width is Width.NARROW else 1}
    return _TICKS[width]


def mark_layers(
    marks: Sequence[Mark], letters: Sequence[Tag], span: Span, palette: Palette, plot: Plot
) -> list[alt.Chart]:
    return [*_lines(marks, palette, plot), *_letters(letters, span, palette, plot)]


def _lines(marks: Sequence[Mark], palette: Palette, plot: Plot) -> Iterator[alt.Chart]:
    """Those of the alerts last, for they are whole: of two at one time, the letters tell."""
    for alert, color, dash in ((False, palette.change, [2, 3]), (True, palette.alert, [1, 0])):
        times = sorted({milliseconds(mark.at) for mark in marks if mark.alert is alert})
        if times:
            lines = data([{"at": at} for at in times]).mark_rule(color=color, strokeWidth=1.3, strokeDash=dash)
            yield lines.encode(x=plot.x, y=alt.value(plot.top), y2=alt.value(plot.bottom))


def _letters(letters: Sequence[Tag], span: Span, palette: Palette, plot: Plot) -> Iterator[alt.Chart]:
    start, length = milliseconds(span.start), (span.end - span.start) / timedelta(milliseconds=1)
    for row, alert in sorted({(tag.row, tag.alert) for tag in letters}):
        of_row = [tag for tag in letters if (tag.row, tag.alert) == (row, alert)]
        values = [{"at": start + tag.middle / plot.width * length, "letter": tag.text} for tag in of_row]
        color = palette.alert if alert else palette.change
        text = data(values).mark_text(color=color, fontSize=FONT_SIZE, fontWeight="bold", baseline="middle")
        yield text.encode(x=plot.x, y=alt.value(plot.top - (row + 0.5) * ROW), text="letter:N")


def data(values: list[dict[str, Any]]) -> alt.Chart:
    return alt.Chart(alt.InlineData(values=values))


def milliseconds(at: datetime) -> int:
    return int(at.timestamp() * 1000)

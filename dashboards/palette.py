"""The colours of charts, for each theme."""

from __future__ import annotations

from dataclasses import dataclass

from dashboards.chart import Theme


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


PALETTES = {
    Theme.LIGHT: Palette(
        "#1c2733", "#5a6775", "#e4e8ec", "#0a5fa8", "#8a5a00", "#6d5a8c", "#b3261e", "#edf0f3"
    ),
    Theme.DARK: Palette(
        "#e3e8ee", "#98a4b1", "#2a323c", "#6db5f0", "#e0ac4f", "#b9a6dc", "#ff8f80", "#20272f"
    ),
}  # fmt: skip

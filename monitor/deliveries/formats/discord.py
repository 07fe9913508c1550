"""The format `discord`: a webhook's message with one embed."""

from __future__ import annotations

from typing import Any

from monitor.alerts.states import Severity
from monitor.deliveries.facts import AlertFacts
from monitor.deliveries.notice import Notice
from monitor.deliveries.wording import alert_page, event_lines, line, stamp, title

# Discord takes 256 characters of title and 4,096 of description.
TITLE_CHARS, DESCRIPTION_CHARS = 250, 4_000

_RED, _AMBER, _BLUE, _GREEN = 0xD73A49, 0xE09F3E, 0x4078C0, 0x2E7D32
_COLOURS = {Severity.CRITICAL: _RED, Severity.WARNING: _AMBER, Severity.INFO: _BLUE}


def document(notice: Notice, truncated: int) -> dict[str, Any]:
    lines = [_alert(notice, alert) for alert in notice.alerts] or [_escaped(text) for text in event_lines(notice)]
    kept = _fitting(lines)
    left_out = truncated + len(lines) - len(kept)
    if left_out:
        kept.append(f"and {left_out} more")
    embed = {
        "title": _escaped(title(notice))[:TITLE_CHARS],
        "description": "\n".join(kept),
        "color": _colour(notice),
        "timestamp": stamp(notice.at),
    }
    # Nobody is called by a label that reads like @everyone.
    return {"embeds": [embed], "allowed_mentions": {"parse": []}}


def _fitting(lines: list[str]) -> list[str]:
    """As many lines, from the first, as a description holds beside the count of those left out."""
    kept: list[str] = []
    room = DESCRIPTION_CHARS - 40
    for text in lines:
        room -= len(text) + 1
        if room < 0:
            break
        kept.append(text)
    return kept


def _alert(notice: Notice, alert: AlertFacts) -> str:
    text = _escaped(line(alert))
    return f"[{text}]({alert_page(notice, alert)})" if notice.external_url else text


def _escaped(text: str) -> str:
    for sign in ("\\", "*", "_", "~", "`", "|", "[", "]", ">", "<"):
        text = text.replace(sign, f"\\{sign}")
    return text


def _colour(notice: Notice) -> int:
    if not notice.alerts:
        return _AMBER if notice.status == "firing" else _BLUE
    if notice.status == "resolved":
        return _GREEN
    worst = max((alert.severity for alert in notice.alerts if not alert.resolved), key=lambda severity: severity.rank)
    return _COLOURS[worst]

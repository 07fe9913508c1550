"""The format `slack`: an incoming webhook's message with a text for the notification and blocks for the channel."""

from __future__ import annotations

from typing import Any

from monitor.deliveries.facts import AlertFacts
from monitor.deliveries.notice import Notice
from monitor.deliveries.wording import alert_page, event_lines, line, title

# Slack takes 50 blocks, and 3,000 characters in one.
MOST_ALERTS = 40
BLOCK_CHARS = 2_800


def document(notice: Notice, truncated: int) -> dict[str, Any]:
    shown = notice.alerts[:MOST_ALERTS]
    texts = [_alert(notice, alert) for alert in shown] or [_escaped("\n".join(event_lines(notice)) or notice.type)]
    left_out = truncated + len(notice.alerts) - len(shown)
    if left_out:
        texts.append(f"and {left_out} more")
    heading = _escaped(title(notice))
    return {"text": heading, "blocks": [_section(f"*{heading}*"), *map(_section, texts)]}


def _alert(notice: Notice, alert: AlertFacts) -> str:
    text = _escaped(line(alert))
    # A link needs a host.
    return f"<{alert_page(notice, alert)}|{text}>" if notice.external_url else text


def _section(text: str) -> dict[str, Any]:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text[:BLOCK_CHARS]}}


def _escaped(text: str) -> str:
    """Without Slack's control sequences: `<!channel>` in a label must call nobody."""
    for sign, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("|", "¦")):
        text = text.replace(sign, entity)
    return text

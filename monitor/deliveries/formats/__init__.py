"""The formats in which a channel may want its messages; each turns a `Notice` into the bytes that are sent."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from monitor.deliveries.facts import AlertFacts
from monitor.deliveries.formats import alertmanager_v4, discord, slack, standard
from monitor.deliveries.notice import Notice
from monitor.deliveries.wording import alert_page, event_lines, line, title

# What receivers are told to expect at most.
MAX_BODY_BYTES = 20_000
JSON, TEXT = "application/json", "text/plain; charset=utf-8"

Document = Callable[[Notice, int], Mapping[str, Any]]

_DOCUMENTS: Mapping[str, Document] = {
    "standard": standard.document,
    "alertmanager_v4": alertmanager_v4.document,
    "slack": slack.document,
    "discord": discord.document,
}


@dataclass(frozen=True, slots=True)
class Body:
    """A message as it is sent, byte for byte."""

    content: bytes
    content_type: str


def render(notice: Notice, form: str) -> Body:
    """The message in a format, or as plain text ("text"); alerts are left out from the end until it is small enough."""
    kept = len(notice.alerts)
    body = _body(notice, form, 0)
    while len(body.content) >= MAX_BODY_BYTES and kept > 1:
        # Straight to about the right size, then one by one.
        kept = min(kept - 1, max(1, kept * MAX_BODY_BYTES // len(body.content)))
        body = _body(replace(notice, alerts=tuple(notice.alerts[:kept])), form, len(notice.alerts) - kept)
    return body


def _body(notice: Notice, form: str, truncated: int) -> Body:
    if form == "text":
        return Body(_plain(notice, truncated).encode(), TEXT)
    document = _DOCUMENTS[form](notice, truncated)
    return Body(json.dumps(document, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode(), JSON)


def _plain(notice: Notice, truncated: int) -> str:
    """The title, an empty line, the rest: what an e-mail's subject and text are made of."""
    lines = [_linked(notice, alert) for alert in notice.alerts] or event_lines(notice)
    if truncated:
        lines.append(f"and {truncated} more")
    return "\n".join([title(notice), "", *lines])


def _linked(notice: Notice, alert: AlertFacts) -> str:
    return f"{line(alert)}\n{alert_page(notice, alert)}" if notice.external_url else line(alert)

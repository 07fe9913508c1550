"""Templates into HTML: everything is escaped, and text from elsewhere loses what steers or hides text."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from dashboards import numbers, states
from monitor.redaction import safe_text
from monitor.render import wording
from monitor.render.streams import worth_text


def render(template: str, content: Mapping[str, Any]) -> str:
    return _environment.get_template(template).render(content)


def _finalized(value: Any) -> Any:
    # Markup is what macros of our own have made; they finalized its parts. What is printable has nothing to be taken
    # out, and looking for it is most of a large page's work.
    if not isinstance(value, str) or isinstance(value, Markup) or value.isprintable():
        return value
    return safe_text(value)


def _time(at: datetime | None, now: datetime) -> Markup:
    """`5 min ago`, with the full time for those who point at it and for machines."""
    if at is None:
        return Markup("–")
    words = numbers.ago(at, now) if at <= now else numbers.until(at, now)
    return Markup('<time datetime="{}" title="{} UTC">{}</time>').format(numbers.iso(at), numbers.minute(at), words)


def _stamp(at: datetime | None) -> Markup:
    if at is None:
        return Markup("–")
    return Markup('<time datetime="{}">{}</time>').format(numbers.iso(at), numbers.minute(at))


_environment = Environment(
    loader=PackageLoader("dashboards"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    finalize=_finalized,
)
_environment.filters.update(
    time=_time,
    due=numbers.until,
    person=lambda name: name.removeprefix("user:"),
    stamp=_stamp,
    measured=numbers.measured,
    number=wording.number,
    p=wording.p_text,
    causes=wording.cause_text,
    cost=numbers.cost,
    tokens=numbers.tokens,
    worth=worth_text,
)
_environment.globals.update(legend=states.LEGEND, of_verdict=states.OF_VERDICT, of_alert=states.OF_ALERT)

"""What a notice may say of an alert: fields picked one by one, each of a shape that no prompt, answer or key fits."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from monitor.alerts.states import AlertState, Severity
from monitor.redaction import redact_known, safe_text
from monitor.secrets import is_secret_name

# Small enough that one alert with all of its labels three times over is a small message.
MOST_LABELS = 16
LABEL_BYTES = 96
MOST_NAMES = 8
TEXT_CHARS = 200

_KNOWN_BY = frozenset({"provider", "model", "endpoint", "channel", "rule", "metric"})

# Identifiers, profiles, detectors, error codes: words without spaces.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,63}")
_UNIT = re.compile(r"[A-Za-z%µ][A-Za-z%µ/ ]{0,15}")


@dataclass(frozen=True, slots=True)
class Finding:
    """What the alert's last evidence said. `checks` and `runs` are ids."""

    value: float | None = None
    baseline: float | None = None
    unit: str | None = None
    interval: tuple[float, float] | None = None
    n: int | None = None
    p: float | None = None
    detector: str | None = None
    causes: tuple[tuple[str, float], ...] = ()
    checks: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    error: str | None = None

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Finding:
        """From an alert's `finding`; what is not of the expected shape is left out."""
        n = _number(stored.get("n"))
        return cls(
            value=_number(stored.get("value")),
            baseline=_number(stored.get("baseline")),
            unit=_matching(_UNIT, stored.get("unit")),
            interval=_interval(stored.get("ci")),
            n=None if n is None else int(n),
            p=_number(stored.get("p")),
            detector=_matching(_NAME, stored.get("detector")),
            causes=_causes(stored.get("causes")),
            checks=_names(stored.get("checks")),
            runs=_names(stored.get("runs")),
            since=_time(stored.get("since")),
            until=_time(stored.get("until")),
            error=_matching(_NAME, stored.get("error")),
        )


@dataclass(frozen=True, slots=True)
class AlertFacts:
    """An alert as notices see it."""

    id: str
    fingerprint: str
    rule: str
    metric: str
    severity: Severity
    state: AlertState
    labels: Mapping[str, str]
    opened_at: datetime
    fired_at: datetime | None = None
    resolved_at: datetime | None = None
    acked: bool = False
    flapping: bool = False
    finding: Finding = field(default_factory=Finding)

    @property
    def resolved(self) -> bool:
        return self.state is AlertState.RESOLVED

    @property
    def open(self) -> bool:
        """It fired and is not over, whatever it does at the moment."""
        return self.fired_at is not None and not self.resolved


def plain_labels(stored: Mapping[str, Any]) -> dict[str, str]:
    """Labels as text, cut, without those that are named like a credential; those by which people know an alert come
    first, and are never among those left out."""
    texts = {
        _label(name): _label(value)
        for name, value in sorted(stored.items(), key=lambda pair: (pair[0] not in _KNOWN_BY, pair[0]))
        if isinstance(value, str | int | float) and not is_secret_name(name)
    }
    return dict(list(texts.items())[:MOST_LABELS])


def plain_data(stored: Mapping[str, Any]) -> dict[str, Any]:
    """What an event says of itself: numbers, truth values, names and lists of names; text as `reason` alone."""
    given = {name: _plain(value) for name, value in sorted(stored.items()) if not is_secret_name(name)}
    reason = stored.get("reason")
    if isinstance(reason, str):
        given["reason"] = plain_text(reason)
    return {name: value for name, value in given.items() if value is not None}


def plain_text(text: str) -> str:
    """One line of at most TEXT_CHARS characters, redacted."""
    return redact_known(safe_text(" ".join(text[: 4 * TEXT_CHARS].split())))[:TEXT_CHARS]


def _plain(value: object) -> Any:
    if isinstance(value, bool | int):
        return value
    if isinstance(value, list | tuple):
        return list(_names(value))
    return _number(value) if isinstance(value, float) else _matching(_NAME, value)


def _label(value: object) -> str:
    return plain_text(str(value)).encode()[:LABEL_BYTES].decode("utf-8", "ignore")


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def _interval(value: object) -> tuple[float, float] | None:
    if not isinstance(value, list | tuple) or len(value) != 2:
        return None
    low, high = _number(value[0]), _number(value[1])
    return None if low is None or high is None else (low, high)


def _matching(shape: re.Pattern[str], value: object) -> str | None:
    return value if isinstance(value, str) and shape.fullmatch(value) else None


def _names(value: object) -> tuple[str, ...]:
    given = value if isinstance(value, list | tuple) else ()
    return tuple(name for item in given[:MOST_NAMES] if (name := _matching(_NAME, item)))


def _causes(value: object) -> tuple[tuple[str, float], ...]:
    given = value if isinstance(value, list | tuple) else ()
    pairs = [(item.get("name"), item.get("weight")) for item in given[:MOST_NAMES] if isinstance(item, Mapping)]
    named = [(_matching(_NAME, name), _number(weight)) for name, weight in pairs]
    return tuple((name, weight) for name, weight in named if name is not None and weight is not None)


def _time(value: object) -> datetime | None:
    if not isinstance(value, str):
        return None
    try:
        when = datetime.fromisoformat(value)
    except ValueError:
        return None
    return when if when.tzinfo is not None else None

"""How far a baseline is from the first one, as JSON: one text for one value, with every bit."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from monitor.drift.first_baseline import AgainstFirst, LevelMove, MeansMove
from monitor.drift.interval import Interval
from monitor.errors import StorageError


def encode_against(found: AgainstFirst) -> str:
    return json.dumps(asdict(found), separators=(",", ":"), allow_nan=False)


def decode_against(text: str) -> AgainstFirst:
    """Raises StorageError for what `encode_against` did not write."""
    try:
        found = json.loads(text)
        level, means = found.pop("level"), found.pop("means")
        return AgainstFirst(
            level=None if level is None else LevelMove(**{**_with_interval(level), "days": tuple(level["days"])}),
            means=None if means is None else MeansMove(**_with_interval(means)),
            **found,
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise StorageError(
            f"A stored comparison with a first baseline is damaged ({type(error).__name__}).",
            remedy="Restore the database from a backup.",
        ) from error


def _with_interval(found: dict[str, Any]) -> dict[str, Any]:
    return {**found, "interval": Interval(**found["interval"])}

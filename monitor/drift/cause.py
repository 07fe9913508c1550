"""One explanation of what was found, and how much speaks for it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cause:
    """A candidate explanation and its share of belief among all candidates; weights sum to 1."""

    name: str
    weight: float

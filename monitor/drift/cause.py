"""One explanation of what was found, and how much speaks for it."""

from __future__ import annotations

from dataclasses import dataclass

# The one candidate of a reference that is another endpoint, whose numerics nobody here computes.
ENDPOINT = "endpoint"


@dataclass(frozen=True, slots=True)
class Cause:
    """A candidate explanation and its share of belief among all candidates; weights sum to 1."""

    name: str
    weight: float

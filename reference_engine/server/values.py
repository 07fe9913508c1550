"""How many log-probabilities of given tokens one answer may have."""

from __future__ import annotations

from reference_engine.server.errors import ApiError

MAX_VALUES = 500_000


def check_values(values: int, param: str, remedy: str) -> None:
    """Raises `ApiError` (400) where there would be more."""
    if values > MAX_VALUES:
        raise ApiError(
            f"The answer would have {values} log-probabilities, more than {MAX_VALUES}. {remedy}",
            wire_code="too_many_values",
            param=param,
        )

"""Facts that only a fault in this engine can break."""

from __future__ import annotations


def require(fact: bool, otherwise: str) -> None:
    """AssertionError, also where assert statements are compiled away."""
    if not fact:
        raise AssertionError(otherwise)

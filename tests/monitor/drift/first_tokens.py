"""Answers of one token each, as border inputs have them."""

from __future__ import annotations

import numpy as np

from monitor.drift.observation import Observation
from probes.border import COLD


def first_token(
    prompt: str, token: bytes | None, *, mark: str = COLD, rep: int = 0, answer: str | None = None
) -> Observation:
    """mark: how its item's key begins; answer: the id that the endpoint gave it."""
    return Observation(f"{mark}{prompt}", rep, True, (), np.array([]), token, (), {}, None, None, answer)

"""How many tokens a server has read and written."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Tally:
    """Since the start. A prompt counts once, however many answers it gets, and also where none was possible."""

    prompt_tokens: int = 0
    generated_tokens: int = 0

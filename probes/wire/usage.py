"""Token counts: the last non-null usage of an answer, and how the counts grew on the way there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from probes.completion import Usage
from probes.quirks import Quirk
from probes.wire.json_value import as_integer, as_object

# So many tokens between two counts were held back and sent at once.
BURST_TOKENS = 8


class UsageCount:
    """Takes the usage of each chunk, or of a whole body. The last one wins; nothing is added up."""

    def __init__(self) -> None:
        self.last: Usage | None = None
        self._times = 0
        self._largest_step = 0

    def take(self, carrier: Mapping[str, Any]) -> bool:
        """The usage of a chunk or body, if it has one; True where it counts more output tokens than the one before."""
        found = _usage_in(carrier)
        if found is None:
            return False
        before = self.last.completion_tokens if self.last else None
        self.last = _usage(found)
        self._times += 1
        if before is None or self.last.completion_tokens is None:
            return False
        self._largest_step = max(self._largest_step, self.last.completion_tokens - before)
        return self.last.completion_tokens > before

    @property
    def burst(self) -> bool:
        """Whether many tokens were counted between one usage and the next."""
        return self._largest_step >= BURST_TOKENS

    def quirks(self, *, has_output: bool) -> set[Quirk]:
        found: set[Quirk] = {Quirk.USAGE_CUMULATIVE} if self._times > 1 else set()
        if self.last is None:
            return found
        completion, reasoning = self.last.completion_tokens, self.last.reasoning_tokens or 0
        if completion == 0 and has_output:
            found.add(Quirk.USAGE_COMPLETION_ZERO)
        if completion is not None and reasoning > completion:
            found.add(Quirk.USAGE_REASONING_EXCEEDS)
        if not _adds_up(self.last, reasoning):
            found.add(Quirk.USAGE_TOTAL_MISMATCH)
        return found


def _adds_up(usage: Usage, reasoning: int) -> bool:
    if usage.prompt_tokens is None or usage.completion_tokens is None or usage.total_tokens is None:
        return True
    visible = usage.prompt_tokens + usage.completion_tokens
    return usage.total_tokens in (visible, visible + reasoning)


def _usage_in(carrier: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The usage itself; Moonshot puts it into the choice, Groq into an object of its own."""
    choices = carrier.get("choices")
    choice = as_object(choices[0]) if isinstance(choices, list) and choices else {}
    places = (carrier, choice, as_object(carrier.get("x_groq")))
    return next((usage for place in places if (usage := as_object(place.get("usage")))), None)


def _usage(found: Mapping[str, Any]) -> Usage:
    output = as_object(found.get("completion_tokens_details"))
    prompt = as_object(found.get("prompt_tokens_details"))
    return Usage(
        prompt_tokens=as_integer(found.get("prompt_tokens")),
        completion_tokens=as_integer(found.get("completion_tokens")),
        total_tokens=as_integer(found.get("total_tokens")),
        reasoning_tokens=as_integer(output.get("reasoning_tokens", found.get("reasoning_tokens"))),
        cached_tokens=as_integer(prompt.get("cached_tokens")),
    )

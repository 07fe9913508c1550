"""Why an answer ended: the finish reason as received, what it stands for, and whether it tells the truth."""

from __future__ import annotations

from probes.quirks import Quirk
from probes.wire.asked import Asked
from probes.wire.surrogates import paired

_STANDARD = frozenset({"stop", "length", "tool_calls", "content_filter", "function_call"})
# What gateways pass on of other APIs and older servers, in whatever letter case.
_ALIASES = {
    **dict.fromkeys(("eos", "eos_token", "end_turn", "stop_sequence"), "stop"),
    **dict.fromkeys(("max_tokens", "model_length"), "length"),
    **dict.fromkeys(("tool_use", "tool_call"), "tool_calls"),
    **dict.fromkeys(("sensitive", "safety", "refusal", "content_filtered", "guardrail_intervened"), "content_filter"),
    **{word: word for word in _STANDARD},
}
_ABORTS = frozenset({"abort", "network_error", "insufficient_system_resource"})

# What no sentence ends with, letters and digits aside.
_MID_SENTENCE = frozenset(",-–—([")
_WORDS_OF_A_SENTENCE = 5


class Finish:
    """The finish reason of one choice; the first terminal one wins."""

    def __init__(self) -> None:
        self.raw: str | None = None
        self.quirks: set[Quirk] = set()

    def take(self, reason: object) -> bool:
        """A chunk's or message's finish reason; True where it is terminal. Null, "" and what is no string are not."""
        if not isinstance(reason, str) or not reason:
            return False
        if self.raw is not None:
            self.quirks.add(Quirk.FINISH_DUPLICATE)
            return True
        self.raw = paired(reason)
        if reason not in _STANDARD:
            self.quirks.add(Quirk.FINISH_NONSTANDARD)
        if reason in _ABORTS:
            self.quirks.add(Quirk.ENGINE_ABORT)
        return True

    @property
    def reason(self) -> str | None:
        """The standard word where one stands for the raw value, else the raw value."""
        return None if self.raw is None else _ALIASES.get(self.raw.lower(), self.raw)


def disagreements(reason: str | None, asked: Asked, *, calls: int) -> set[Quirk]:
    """Where the finish reason and the parsed calls contradict each other."""
    if reason == "stop" and calls and asked.calls_free and not asked.function_forced:
        return {Quirk.FINISH_STOP_WITH_TOOL_CALLS}
    return {Quirk.FINISH_TOOLS_WITHOUT_CALLS} if reason == "tool_calls" and not calls else set()


def breaks_off(text: str) -> bool:
    """Whether prose ends inside a sentence, or a code block or JSON text is left open."""
    text = text.rstrip()
    if text.count("```") % 2:
        return True
    if text.startswith(("{", "[")):
        return text.count("{") + text.count("[") > text.count("}") + text.count("]")
    return len(text.split()) >= _WORDS_OF_A_SENTENCE and (text[-1].isalnum() or text[-1] in _MID_SENTENCE)

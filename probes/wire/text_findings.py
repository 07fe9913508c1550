"""What the text of an answer shows: calls left in it, leaked control tokens, an answer filed as reasoning, a cut."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from probes.completion import ToolCall
from probes.quirks import Quirk
from probes.wire.asked import Asked
from probes.wire.call_syntax import holds_call_syntax
from probes.wire.finish import breaks_off
from probes.wire.message import thought_in_tags, without_tags
from probes.wire.special_tokens import leaks


@dataclass(frozen=True, slots=True)
class Text:
    """The text of an answer. `content` is as received; `visible` is it without reasoning in tags at its head;
    `tagged` is whether there was such."""

    content: str | None
    visible: str
    reasoning: str
    tagged: bool

    @classmethod
    def of(cls, content: str | None, reasoning: str) -> Text:
        thought = thought_in_tags(content or "") if not reasoning else None
        if thought is None:
            return cls(content, content or "", reasoning, tagged=False)
        return cls(content, without_tags(content or ""), thought, tagged=True)


def text_quirks(text: Text, calls: tuple[ToolCall, ...], asked: Asked, reason: str | None) -> set[Quirk]:
    """The quirks of the text, given the parsed calls and the reason for which the answer ended. A call that was cut
    is none, and stays text."""
    quirks = {Quirk.REASONING_FIELD_VARIANT} if text.tagged else set()
    if asked.chat and not calls and holds_call_syntax(text.visible, asked.tools):
        quirks |= {Quirk.TC_AS_TEXT} if reason != "length" else set()
    elif leaks(_spoken(text, calls), asked.texts):
        quirks.add(Quirk.SPECIAL_TOKEN_LEAK)
    if text.reasoning.strip() and not text.visible.strip() and not calls and reason == "stop":
        quirks.add(Quirk.REASONING_ONLY)
    return quirks


def is_cut(text: Text, asked: Asked) -> bool:
    """Whether the text of an answer without calls ends before its end; a stop string may end it anywhere."""
    return not asked.stops and breaks_off(text.visible if text.visible.strip() else text.reasoning)


def _spoken(text: Text, calls: tuple[ToolCall, ...]) -> Iterator[str]:
    yield text.visible
    yield text.reasoning
    for call in calls:
        yield call.name
        yield call.arguments_raw or ""
        # Escapes in the argument text are resolved here.
        yield json.dumps(call.arguments, ensure_ascii=False)

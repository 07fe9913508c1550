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
from probes.wire.message import thought_in_tags, unended_thought, without_tags
from probes.wire.special_tokens import leaks


@dataclass(frozen=True, slots=True)
class Text:
    """The text of an answer. `content` is as received; `visible` is it without reasoning in tags at its head, which are
    left open where the tokens ended within it; `tagged` is whether there was such."""

    content: str | None
    visible: str
    reasoning: str
    tagged: bool

    @classmethod
    def of(cls, content: str | None, reasoning: str, *, cut: bool) -> Text:
        said = content or ""
        if not reasoning and (thought := thought_in_tags(said)) is not None:
            return cls(content, without_tags(said), thought, tagged=True)
        if not reasoning and cut and (thought := unended_thought(said)) is not None:
            return cls(content, "", thought, tagged=True)
        return cls(content, said, reasoning, tagged=False)


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

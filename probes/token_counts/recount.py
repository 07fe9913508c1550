"""Counts an answer's tokens again with the reference's tokenizer, as far as they can be seen."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from probes.completion import Completion, ToolCall
from reference_engine.errors import EngineRequestError

if TYPE_CHECKING:
    from reference_engine.interface import TokenizerBackend

# Some servers count the token that ends the answer.
_END_TOKENS = 1
# Of tokens drawn, the share beyond those that the tokenizer itself would have used.
_LOOSE = 0.05


@dataclass(frozen=True, slots=True)
class Recount:
    """`low` to `high` are the counts that what came can have had; `high` is None where part of it cannot be counted,
    and `unknown` says which. A text is counted as the tokenizer splits it; one that was drawn at a temperature may have
    been put together from a few tokens more, and one that a grammar was laid on from many."""

    reported: int | None
    low: int
    high: int | None
    unknown: tuple[str, ...] = ()

    @property
    def excess(self) -> int:
        """Tokens reported beyond all that can have been; 0 where that is not known."""
        if self.reported is None or self.high is None:
            return 0
        return max(0, self.reported - self.high)


def recount(completion: Completion, request: Mapping[str, Any], tokenizer: TokenizerBackend) -> Recount:
    """The answer to `request` (as sent), counted again: by its log-probabilities where every token has one, else by its
    text, its reasoning, and its calls as the reference's template writes them."""
    reported = completion.usage.completion_tokens if completion.usage else None
    if completion.logprobs and not completion.reasoning and not completion.tool_calls and not _several(request):
        count = len(completion.logprobs)
        return Recount(reported, count, count + _END_TOKENS + _stop_tokens(completion, request, tokenizer))
    text = completion.content or completion.text or completion.refusal or ""
    low, unknown = _size(text, tokenizer), []
    slack = _END_TOKENS + _stop_tokens(completion, request, tokenizer)
    if completion.reasoning:
        low += _size(completion.reasoning, tokenizer)
        unknown.append("the marks around the reasoning")
    elif completion.usage is not None and completion.usage.reasoning_tokens:
        unknown.append("reasoning that is not shown")
    if request.get("temperature") != 0:
        slack += math.ceil(_LOOSE * low)
    if _several(request):
        unknown.append("choices other than the first")
    if _is_held_to_a_form(request):
        unknown.append("how a grammar split the text")
    if completion.tool_calls:
        calls = _size_of_calls(completion, request, tokenizer)
        if calls is None:
            unknown.append("calls, which the reference's template does not write")
        else:
            # The template ends the turn with a token, which servers count or not, and often a line, which none does.
            low, slack = max(low, calls - 2), slack + 1
    return Recount(reported, low, None if unknown else low + slack, tuple(unknown))


def _size(text: str, tokenizer: TokenizerBackend) -> int:
    return len(tokenizer.tokenize(text, parse_special=False)) if text else 0


def _several(request: Mapping[str, Any]) -> bool:
    return (request.get("n") or 1) != 1


def _is_held_to_a_form(request: Mapping[str, Any]) -> bool:
    free = request.get("tool_choice") in (None, "auto", "none")
    return not free or request.get("response_format") not in (None, {"type": "text"})


def _stop_tokens(completion: Completion, request: Mapping[str, Any], tokenizer: TokenizerBackend) -> int:
    """The most that a stop string, which is written and not shown, may have taken."""
    stops = request.get("stop") or ()
    if completion.finish_reason != "stop" or not stops:
        return 0
    return max(_size(stop, tokenizer) for stop in ([stops] if isinstance(stops, str) else stops))


def _size_of_calls(completion: Completion, request: Mapping[str, Any], tokenizer: TokenizerBackend) -> int | None:
    """The assistant's turn with its text and calls, less the generation prompt; None where the template knows none."""
    messages, tools = list(request["messages"]), request.get("tools")
    calls = _as_sent(completion.tool_calls)
    if calls is None:
        return None
    turn = {"role": "assistant", "content": completion.content or "", "tool_calls": calls}
    try:
        before = tokenizer.render(messages, tools)
        after = tokenizer.render([*messages, turn], tools, add_generation_prompt=False)
    except EngineRequestError:
        return None
    if before.tools_rendered != "template" or after.ids[: len(before.ids)] != before.ids:
        return None
    return len(after.ids) - len(before.ids)


def _as_sent(calls: Sequence[ToolCall]) -> list[dict[str, Any]] | None:
    if any(call.arguments is None for call in calls):
        return None
    return [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": json.dumps(call.arguments, ensure_ascii=False)},
        }
        for call in calls
    ]

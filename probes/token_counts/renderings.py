"""The prompt's length as the reference writes it, and as it would be under each known way to write it otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from probes.plan import Sample
from reference_engine.errors import EngineRequestError

if TYPE_CHECKING:
    from reference_engine.interface import TokenizerBackend

REFERENCE = "reference"
TOOLS_LEFT_OUT = "tools left out"

Request = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PromptCount:
    """What the endpoint counted for one request. `renderings` holds what it should have by the reference, and by each
    alternative that writes this request otherwise. Where nothing exact can be expected it lacks the reference's, and
    `unknown` says why."""

    item_key: str
    rep: int
    reported: int
    has_system: bool
    has_tools: bool
    renderings: Mapping[str, int]
    unknown: str = ""

    @property
    def expected(self) -> int | None:
        return self.renderings.get(REFERENCE)


def prompt_counts(
    samples: Iterable[Sample], tokenizer: TokenizerBackend, revisions: Mapping[str, str] | None = None
) -> list[PromptCount]:
    """The count of every sample whose usage names its prompt tokens, in order; other samples are left out.

    `revisions` are other chat templates of the model by name: older ones, those of a quantized release.
    """
    return [
        _count(sample, reported, tokenizer, revisions or {})
        for sample in samples
        if (reported := _reported(sample)) is not None
    ]


def _count(sample: Sample, reported: int, tokenizer: TokenizerBackend, revisions: Mapping[str, str]) -> PromptCount:
    request = sample.item.request
    roles = {message["role"] for message in request["messages"]}
    tools = bool(request.get("tools"))
    found, unknown = _renderings(tokenizer, request, revisions)
    return PromptCount(
        sample.item.key, sample.item.rep, reported, bool(roles & {"system", "developer"}), tools, found, unknown
    )


def _reported(sample: Sample) -> int | None:
    usage = sample.completion.usage if sample.completion is not None else None
    return usage.prompt_tokens if usage is not None else None


def _renderings(
    tokenizer: TokenizerBackend, request: Request, revisions: Mapping[str, str]
) -> tuple[Mapping[str, int], str]:
    messages, tools = request["messages"], request.get("tools")
    try:
        base = tokenizer.render(messages, tools)
    except EngineRequestError:
        return {}, "the reference's template refuses these messages"
    if base.tools_rendered == "hermes":
        return _untold(tokenizer, messages), "the reference's template knows no tools"
    found = {REFERENCE: len(base.ids)}
    alternatives = {**_OTHERWISE, **{f"template {name}": _by_template(text) for name, text in revisions.items()}}
    for name, render in alternatives.items():
        try:
            ids = render(tokenizer, messages, tools)
        except EngineRequestError:
            continue
        if ids is not None:
            found[name] = len(ids)
    return found, ""


def _untold(tokenizer: TokenizerBackend, messages: Sequence[Any]) -> Mapping[str, int]:
    """What the messages alone come to; how a history of calls is written nobody knows either."""
    plain = all(message["role"] != "tool" and not message.get("tool_calls") for message in messages)
    return {TOOLS_LEFT_OUT: len(tokenizer.render(messages).ids)} if plain else {}


Render = Callable[["TokenizerBackend", Sequence[Any], "Sequence[Any] | None"], "Sequence[int] | None"]


def _by_template(template: str) -> Render:
    def render(tokenizer: TokenizerBackend, messages: Sequence[Any], tools: Sequence[Any] | None) -> Sequence[int]:
        return tokenizer.render(messages, tools, chat_template=template).ids

    return render


def _without_generation_prompt(
    tokenizer: TokenizerBackend, messages: Sequence[Any], tools: Sequence[Any] | None
) -> Sequence[int]:
    return tokenizer.render(messages, tools, add_generation_prompt=False).ids


def _without_tools(
    tokenizer: TokenizerBackend, messages: Sequence[Any], tools: Sequence[Any] | None
) -> Sequence[int] | None:
    return tokenizer.render(messages).ids if tools else None


def _without_system(
    tokenizer: TokenizerBackend, messages: Sequence[Any], tools: Sequence[Any] | None
) -> Sequence[int] | None:
    others = [message for message in messages if message["role"] != "system"]
    return tokenizer.render(others, tools).ids if len(others) < len(messages) else None


def _without_history(
    tokenizer: TokenizerBackend, messages: Sequence[Any], tools: Sequence[Any] | None
) -> Sequence[int] | None:
    kept = [message for message in messages[:-1] if message["role"] == "system"]
    return tokenizer.render([*kept, messages[-1]], tools).ids if len(kept) + 1 < len(messages) else None


def _trimmed(tokenizer: TokenizerBackend, messages: Sequence[Any], tools: Sequence[Any] | None) -> Sequence[int] | None:
    trimmed = [
        {**message, "content": message["content"].strip()} if isinstance(message.get("content"), str) else message
        for message in messages
    ]
    return tokenizer.render(trimmed, tools).ids if trimmed != list(messages) else None


def _bare_functions(
    tokenizer: TokenizerBackend, messages: Sequence[Any], tools: Sequence[Any] | None
) -> Sequence[int] | None:
    return tokenizer.render(messages, [tool["function"] for tool in tools]).ids if tools else None


def _strict_functions(
    tokenizer: TokenizerBackend, messages: Sequence[Any], tools: Sequence[Any] | None
) -> Sequence[int] | None:
    if not tools:
        return None
    filled = [{**tool, "function": {**tool["function"], "strict": False}} for tool in tools]
    return tokenizer.render(messages, filled).ids


# Ways in which servers are known to write a conversation otherwise; None where this one comes out the same.
_OTHERWISE: Mapping[str, Render] = {
    "no generation prompt": _without_generation_prompt,
    TOOLS_LEFT_OUT: _without_tools,
    "system message left out": _without_system,
    "history left out": _without_history,
    "blanks at the ends of messages left out": _trimmed,
    "tools written as bare functions": _bare_functions,
    "tools written with strict: false": _strict_functions,
}

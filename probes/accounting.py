"""The accounting probe: does `usage.prompt_tokens` count what the reference's tokenizer and template would send?

One request per case shows a changed tokenizer, a changed template or a hidden system prompt. Where a logprobs run was
made, its usage answers the same question for free, over more prompts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from probes.grammar import GRAMMAR_SHA256, Draw, anchors, fill
from probes.plan import Item, Plan, ProbeKind, Sample
from probes.vocabulary import FRAMES, LONG_ANSWERS, SYSTEM_MESSAGES

if TYPE_CHECKING:
    from reference_engine.interface import TokenizerBackend

LADDER_VERSION = "1"

Messages = list[dict[str, str]]
_LONG_SENTENCES = 12


@dataclass(frozen=True, slots=True)
class TokenCount:
    """What the endpoint counted for one request, and what it should have (None without a tokenizer)."""

    item_key: str
    rep: int
    prompt_tokens: int
    expected: int | None


def plan(seed: bytes, *, n: int = 8) -> Plan:
    """`n` fixed requests of one token: the steps of the ladder in order, then plain anchors where n is larger."""
    steps = list(plain_steps(seed))[:n]
    steps += [("anchor", _messages(prompt.messages)) for prompt in anchors(seed, max(0, n - len(steps)))]
    items = tuple(counted_item(name, messages) for name, messages in steps)
    lines = [LADDER_VERSION, GRAMMAR_SHA256, *(item.key for item in items)]
    return Plan(ProbeKind.ACCOUNTING, items, hashlib.sha256("\n".join(lines).encode()).hexdigest(), LADDER_VERSION)


def counts(samples: Iterable[Sample], tokenizer: TokenizerBackend | None) -> list[TokenCount]:
    """The counts of every sample whose usage names its prompt tokens, in order; other samples are left out.

    Raises EngineRequestError where the reference's template refuses the messages.
    """
    found = []
    for sample in samples:
        usage = sample.completion.usage if sample.completion is not None else None
        if usage is None or usage.prompt_tokens is None:
            continue
        expected = None if tokenizer is None else expected_prompt_tokens(tokenizer, sample.item.request)
        found.append(TokenCount(sample.item.key, sample.item.rep, usage.prompt_tokens, expected))
    return found


def expected_prompt_tokens(tokenizer: TokenizerBackend, request: Mapping[str, Any]) -> int:
    """The length of a chat request as the model reads it, generation prompt included."""
    return len(tokenizer.render(request["messages"], request.get("tools")).ids)


def plain_steps(seed: bytes) -> Iterator[tuple[str, Messages]]:
    """Conversations without tools, by name; each may count its tokens otherwise than the last."""
    draw = Draw(seed, "accounting", LADDER_VERSION)
    plain = [frame.text for frame in FRAMES if not frame.foreign]
    foreign = [frame.text for frame in FRAMES if frame.foreign and frame.family != "digits"]
    digits = [frame.text for frame in FRAMES if frame.family == "digits"]

    def said(options: list[str]) -> str:
        return fill(draw.choice(options), draw)

    yield "plain", [_says("user", said(plain))]
    yield "system", [_says("system", said(list(SYSTEM_MESSAGES))), _says("user", said(plain))]
    yield "foreign", [_says("user", f"{said(foreign)} {said(foreign)}")]
    yield "digits", [_says("user", f"{said(digits)} {draw.digits(19)}, 0.{draw.digits(9)}, -{draw.digits(4)}")]
    yield (
        "history",
        [
            _says("user", said(plain)),
            _says("assistant", said(plain)),
            _says("user", said(foreign)),
            _says("assistant", said(plain)),
            _says("user", said(plain)),
        ],
    )
    yield "space", [_says("user", f"  {said(plain)}\n\n\t- {said(plain)}\n\n\n    {said(plain)}  ")]
    yield "long", [_says("user", " ".join(said(plain) for _ in range(_LONG_SENTENCES)))]
    yield (
        "system-foreign",
        [_says("system", said(foreign)), _says("user", said([frame.text for frame in LONG_ANSWERS]))],
    )


def _says(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}


def _messages(messages: Iterable[Mapping[str, str]]) -> Messages:
    return [dict(message) for message in messages]


def counted_item(name: str, messages: Sequence[Mapping[str, Any]], **more: Any) -> Item:
    """A request of one token, which is all that a count of the prompt needs. Its key goes by name and content."""
    told = json.dumps([messages, more]) if more else "\n".join(f"{one['role']}\n{one['content']}" for one in messages)
    key = f"accounting-{name}-{hashlib.sha256(told.encode()).hexdigest()[:8]}"
    request = {"messages": messages, **more, "max_tokens": 1, "temperature": 0, "stream": False}
    return Item(key, 0, request, anchor=True)

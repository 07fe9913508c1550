"""What the reference expects of each prompt, under every profile and under the template changes seen in the field."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from monitor.drift.observation import FloatArray
from reference_engine import Message, ReferenceBackend

TOP_K = 20
GENERIC_SYSTEM_PROMPT = "You are a helpful assistant."
_SYSTEM_HEADER = re.compile(r"(<[^<>\s]+>)\s*system\b")


@dataclass(frozen=True, slots=True)
class Expectation:
    """The compared token set of one prompt and its log-probabilities by candidate; nats, shape [k] each.

    token_ids are the reference's own numbers for reference_tokens.
    """

    token_ids: tuple[int, ...]
    reference_tokens: tuple[bytes, ...]
    expected: Mapping[str, FloatArray]
    prompt_tokens: int


Variant = Callable[[ReferenceBackend, Sequence[Message]], Sequence[int]]


def _own_system(messages: Sequence[Message]) -> bool:
    return any(message.get("role") == "system" for message in messages)


def _without_system(engine: ReferenceBackend, messages: Sequence[Message]) -> Sequence[int]:
    """The template with its default system block cut out: from the header before "system" to the next such header."""
    rendered = engine.render(messages)
    found = None if _own_system(messages) else _SYSTEM_HEADER.search(rendered.text)
    if found is None:
        return rendered.ids
    after = rendered.text.find(found.group(1), found.end())
    if after < 0:
        return rendered.ids
    return engine.tokenize(rendered.text[: found.start()] + rendered.text[after:])


def _generic_system(engine: ReferenceBackend, messages: Sequence[Message]) -> Sequence[int]:
    if _own_system(messages):
        return engine.render(messages).ids
    return engine.render([{"role": "system", "content": GENERIC_SYSTEM_PROMPT}, *messages]).ids


def _no_generation_prompt(engine: ReferenceBackend, messages: Sequence[Message]) -> Sequence[int]:
    return engine.render(messages, add_generation_prompt=False).ids


def _no_template(engine: ReferenceBackend, messages: Sequence[Message]) -> Sequence[int]:
    return engine.tokenize("\n".join(str(message.get("content", "")) for message in messages), parse_special=False)


# Faults of chat templates that providers were seen with (DETECTION.md, finding 8).
VARIANTS: Mapping[str, Variant] = {
    "system-prompt:none": _without_system,
    "system-prompt:generic": _generic_system,
    "template:no-generation-prompt": _no_generation_prompt,
    "template:none": _no_template,
}


def reference_fingerprint(engine: ReferenceBackend, allowed: Sequence[str] = ()) -> str:
    """One hash over everything an expectation depends on: weights, template, every profile, the variants."""
    profiles = _profiles(engine, allowed)
    parts = [*(engine.fingerprint(profile) for profile in profiles), *VARIANTS, GENERIC_SYSTEM_PROMPT, str(TOP_K)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def all_candidates(engine: ReferenceBackend, allowed: Sequence[str] = ()) -> tuple[str, ...]:
    """Every explanation that can be scored: the engine's profiles, the allowed ones among them or not, and the template
    variants."""
    return (*_profiles(engine, allowed), *VARIANTS)


def _profiles(engine: ReferenceBackend, allowed: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*engine.describe().profiles, *allowed)))


def expect(
    engine: ReferenceBackend,
    base: str,
    candidates: Sequence[str],
    messages: Mapping[str, Sequence[Message]],
    known: Mapping[str, Expectation],
    on_candidate: Callable[[str], None] = lambda _: None,
) -> dict[str, Expectation]:
    """Score every prompt under these candidates; what is known already is kept and not computed again.

    messages: by item key. known: expectations made under the same reference, of other candidates or other runs.
    on_candidate is called with each candidate's name before its turn.
    """
    found = {key: known[key] for key in messages if key in known}
    fresh = {key: conversation for key, conversation in messages.items() if key not in found}
    if fresh:
        on_candidate(base)
        found |= _first(engine, base, fresh)
    for name in candidates:
        lacking = [key for key in messages if name not in found[key].expected]
        if lacking:
            on_candidate(name)
            ids = {key: _prompt_ids(engine, name, messages[key]) for key in lacking}
            values = _chosen(engine, ids, found, base if name in VARIANTS else name)
            for key in lacking:
                found[key] = replace(found[key], expected={**found[key].expected, name: values[key]})
    return {key: found[key] for key in messages}


def _first(engine: ReferenceBackend, base: str, messages: Mapping[str, Sequence[Message]]) -> dict[str, Expectation]:
    """The compared token set of each prompt: the base profile's top-k."""
    prompts = {key: engine.render(conversation).ids for key, conversation in messages.items()}
    positions = engine.next_tokens(list(prompts.values()), top_k=TOP_K, profile=base)
    return {
        key: Expectation(
            token_ids=tuple(token_id for token_id, _ in position.top),
            reference_tokens=tuple(engine.token_bytes(token_id) for token_id, _ in position.top),
            expected={base: np.array([value for _, value in position.top], dtype=np.float64)},
            prompt_tokens=len(prompts[key]),
        )
        for key, position in zip(prompts, positions, strict=True)
    }


def _prompt_ids(engine: ReferenceBackend, candidate: str, messages: Sequence[Message]) -> Sequence[int]:
    variant = VARIANTS.get(candidate)
    return engine.render(messages).ids if variant is None else variant(engine, messages)


def _chosen(
    engine: ReferenceBackend, prompts: Mapping[str, Sequence[int]], found: Mapping[str, Expectation], profile: str
) -> dict[str, FloatArray]:
    wanted = [found[key].token_ids for key in prompts]
    positions = engine.next_tokens(list(prompts.values()), top_k=1, token_ids=wanted, profile=profile)
    return {
        key: np.array([position.chosen[token_id] for token_id in ids], dtype=np.float64)
        for key, position, ids in zip(prompts, positions, wanted, strict=True)
    }


def token_steps(engine: ReferenceBackend, conversations: Sequence[Sequence[Message]]) -> dict[str, int]:
    """By how many prompt tokens each template variant's rendering usually differs from the reference's own."""
    return {name: _token_step(engine, variant, conversations) for name, variant in VARIANTS.items()}


def _token_step(engine: ReferenceBackend, variant: Variant, conversations: Sequence[Sequence[Message]]) -> int:
    steps = [len(variant(engine, messages)) - len(engine.render(messages).ids) for messages in conversations]
    return Counter(steps).most_common(1)[0][0] if steps else 0


def messages_of(request: Mapping[str, Any]) -> Sequence[Message]:
    """The conversation of a chat request."""
    found = request.get("messages", ())
    return tuple(found)

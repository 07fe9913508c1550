"""The habits seen in the answer itself: calls, reasoning, the first and the last chunk, log-probabilities."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from probes.profile.envelope_features import kind_of
from probes.profile.identifiers import form_of
from probes.profile.reply import Reply
from probes.wire.json_value import as_integer, as_object, as_text
from probes.wire.message import REASONING_FIELDS
from probes.wire.token_logprobs import Position, positions_in, shape_of

# Fewer tokens say nothing of how many come at a time.
_LEAST_TOKENS = 8
_BUCKETS = ((1.0, "1"), (2.0, "to 2"), (8.0, "to 8"))
_MOST_SENTINELS = 3
_FIRST_WORDS = 8


def finish(reply: Reply) -> str | None:
    """The first reason as it is written."""
    reasons = [choice["finish_reason"] for choice in reply.choices if choice.get("finish_reason") is not None]
    return str(reasons[0])[:40] if reasons else None


def reasoning_field(reply: Reply) -> str | None:
    found = [name for name in REASONING_FIELDS if any(message.get(name) for message in reply.messages)]
    if not found and any(isinstance(message.get("content"), list) for message in reply.messages):
        return "content parts"
    start = "".join(as_text(message.get("content")) for message in reply.messages[:_FIRST_WORDS])
    tagged = start.lstrip().startswith("<think>")
    return "+".join(found) or ("tags" if tagged else None)


def call_id(reply: Reply) -> str | None:
    ids = [entry.get("id") for entry in _entries(reply)]
    if not ids:
        return None
    found = next((one for one in ids if isinstance(one, str) and one), None)
    return "absent" if found is None else form_of(found)


def call_index_base(reply: Reply) -> str | None:
    entry = next(_entries(reply), None)
    if entry is None:
        return None
    index = as_integer(entry.get("index"))
    return "absent" if index is None else str(index)


def call_arguments(reply: Reply) -> str | None:
    """The JSON kind in which arguments come."""
    found = [_function(entry)["arguments"] for entry in _entries(reply) if "arguments" in _function(entry)]
    kinds = {kind_of(one) for one in found if one is not None}
    return ("+".join(sorted(kinds)) or "null" if found else "absent") if any(reply.calls) else None


def call_name(reply: Reply) -> str | None:
    """In which delta of the first call its name stands, and whether arguments come along."""
    entries = list(_entries(reply))
    if not reply.streamed or not entries:
        return None
    index = entries[0].get("index")
    own = [_function(entry) for entry in entries if entry.get("index") == index]
    named = [place for place, function in enumerate(own) if function.get("name")]
    if not named:
        return "absent"
    if len(named) > 1:
        return "every delta" if len(named) == len(own) else "several deltas"
    arguments = own[named[0]].get("arguments")
    company = "no arguments" if arguments is None else "arguments" if arguments else "empty arguments"
    return f"delta {named[0]}, {company}" if named[0] else f"first delta, {company}"


def content_when_calling(reply: Reply) -> str | None:
    """What stands for the text of an answer that is calls alone."""
    if not any(reply.calls):
        return None
    contents = [message["content"] for message in reply.messages if "content" in message]
    if not contents:
        return "absent"
    texts = [one for one in contents if isinstance(one, str)]
    if not texts:
        return kind_of(contents[0])
    joined = "".join(texts)
    return "text" if joined.strip() else "blank" if joined else "empty"


def role_chunk(reply: Reply) -> str | None:
    """What the chunk with the role brings besides it."""
    roles = [message for message in reply.messages if message.get("role")]
    if not reply.streamed or not reply.messages:
        return None
    if len(roles) != 1:
        return "every chunk" if roles else "none"
    others = [f"{key} {_filled(roles[0][key])}" for key in roles[0] if key != "role"]
    return ", ".join(sorted(others)) or "alone"


def last_chunk(reply: Reply) -> str | None:
    """What the chunk with the reason brings besides it."""
    if not reply.streamed:
        return None
    ends = [
        (carrier, choice)
        for carrier in reply.carriers
        for choice in (carrier.get("choices") or [])[:1]
        if isinstance(choice, dict) and choice.get("finish_reason") is not None
    ]
    if not ends:
        return "none"
    carrier, choice = ends[0]
    delta = as_object(choice.get("delta"))
    # Whether the last token's text is among it hangs on why the answer ended.
    parts = sorted("content" if key == "content" and delta[key] is not None else _part(delta, key) for key in delta)
    usage = ["usage"] if carrier.get("usage") else []
    return ", ".join([*parts, *usage]) or "bare"


def tokens_per_chunk(reply: Reply) -> str | None:
    completion = reply.completion
    tokens = completion.shown_tokens if completion is not None else None
    if completion is None or not reply.streamed or any(reply.calls) or not completion.content_chunks:
        return None
    if tokens is None or tokens < _LEAST_TOKENS:
        return None
    mean = tokens / completion.content_chunks
    return next((name for bound, name in _BUCKETS if mean <= bound + 0.25), "more")


def logprob_shape(reply: Reply) -> str | None:
    if not asked_for_logprobs(reply):
        return None
    shapes = [shape for choice in reply.choices if (shape := shape_of(choice.get("logprobs"))) is not None]
    return shapes[0].name.lower() if shapes else "none"


def logprob_bytes(reply: Reply) -> str | None:
    positions = _positions(reply)
    return None if not positions else "yes" if positions[0].sampled.has_bytes else "no"


def top_k(reply: Reply) -> str | None:
    """How many alternatives come, where that is fewer than were asked for. Lists may be one longer: with the token that
    was sampled, where it is none of the likeliest."""
    asked = alternatives_asked(reply)
    lengths = [len(position.top) for position in _positions(reply) if position.top is not None]
    if not asked or not _positions(reply):
        return None
    if not lengths:
        return "no list"
    return "all" if max(lengths) >= asked else f"at most {max(lengths)}"


def logprob_sentinel(reply: Reply) -> str | None:
    """What stands for a masked token's value: -9999, the smallest float, null …"""
    readings = [reading for position in _positions(reply) for reading in (position.sampled, *(position.top or ()))]
    found = {"null" if one.value is None else f"{one.value:g}" for one in readings if one.censored}
    values = sorted(found)[:_MOST_SENTINELS]
    return None if not readings else " ".join(values) or "none"


def _positions(reply: Reply) -> list[Position]:
    if not asked_for_logprobs(reply):
        return []
    return [position for choice in reply.choices for position in positions_in(choice.get("logprobs"))]


def asked_for_logprobs(reply: Reply) -> bool:
    return reply.request.get("logprobs") not in (None, False)


def alternatives_asked(reply: Reply) -> int:
    return as_integer(reply.request.get("top_logprobs")) or as_integer(reply.request.get("logprobs")) or 0


def _entries(reply: Reply) -> Iterator[Mapping[str, Any]]:
    for entries in reply.calls:
        yield from entries


def _function(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    return as_object(entry.get("function")) or entry


def _filled(value: object) -> str:
    return "some" if value else "null" if value is None else "empty"


def _part(delta: Mapping[str, Any], key: str) -> str:
    return f"{key} null" if delta[key] is None else key

"""The habits seen in the envelope: ids, keys and their order, usage, the headers, and the bytes of the framing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from probes.profile.identifiers import form_of
from probes.profile.reply import Reply
from probes.wire.json_value import as_object, as_objects, as_text

# What comes with some answers of a stack and not with others.
_NOW_AND_THEN = frozenset(
    {"retry-after", "retry-after-ms", "age", "x-cache", "cf-cache-status", "content-length", "transfer-encoding"}
)
_EDGE = re.compile(r"[0-9a-f]{16,}")
_DIGITS = re.compile(r"\d+")
_LINE_ENDS = {b"\n": "lf", b"\r\n": "crlf", b"\r": "cr"}
_PREFIXED = re.compile(rb"data:(.?)")
_LONGEST_VALUE = 120
AS_ASKED = "as asked"


def identifier(reply: Reply) -> str | None:
    value = reply.first.get("id")
    return form_of(value) if isinstance(value, str) and value else _absence(reply.first, "id")


def object_name(reply: Reply) -> str | None:
    return _value(reply.first, "object")


def created(reply: Reply) -> str | None:
    """The kind of number: some write seconds as a fraction."""
    return kind_of(reply.first["created"]) if "created" in reply.first else "absent"


def model(reply: Reply) -> str | None:
    found = next((carrier["model"] for carrier in reply.carriers if as_text(carrier.get("model"))), None)
    if found is None:
        return "absent"
    return AS_ASKED if found == reply.request.get("model") else as_text(found)[:_LONGEST_VALUE]


def system_fingerprint(reply: Reply) -> str | None:
    return _value(reply.first, "system_fingerprint")


def envelope_keys(reply: Reply) -> str | None:
    """In the order in which they are written, which is that of a program's fields."""
    return ",".join(reply.first)


def choice_keys(reply: Reply) -> str | None:
    return _keys(reply.choices)


def message_keys(reply: Reply) -> str | None:
    return _keys(reply.messages)


def usage_keys(reply: Reply) -> str | None:
    return _keys(as_object(carrier.get("usage")) for carrier in reply.carriers)


def usage_placement(reply: Reply) -> str | None:
    """Where the token counts stand; "none" where none do."""
    if not reply.streamed:
        return "body" if reply.first.get("usage") else _inner_usage(reply) or "none"
    places = [carrier for carrier in reply.carriers if carrier.get("usage")]
    if len(places) > 1:
        return "several chunks"
    if not places:
        return _inner_usage(reply) or "none"
    choices = as_objects(places[0].get("choices"))
    if not choices:
        return "chunk of its own"
    return "last chunk" if choices[0].get("finish_reason") else "other chunk"


def headers(reply: Reply) -> str | None:
    return ",".join(sorted(reply.headers.keys() - _NOW_AND_THEN))


def content_type(reply: Reply) -> str | None:
    return reply.headers.get("content-type", "absent")[:_LONGEST_VALUE]


def server(reply: Reply) -> str | None:
    return reply.headers.get("server", "absent")[:_LONGEST_VALUE]


def via(reply: Reply) -> str | None:
    """Without the name of the one edge host that was passed."""
    return _EDGE.sub("*", reply.headers.get("via", "absent"))[:_LONGEST_VALUE]


def done(reply: Reply) -> str | None:
    if not reply.streamed:
        return None
    return "yes" if any(line.removeprefix(b"data:").strip() == b"[DONE]" for line, _ in reply.lines) else "no"


def line_end(reply: Reply) -> str | None:
    ends = {end for _, end in reply.lines}
    if not reply.streamed or not ends:
        return None
    return _LINE_ENDS[ends.pop()] if len(ends) == 1 else "mixed"


def data_prefix(reply: Reply) -> str | None:
    """Whether the optional space stands after the colon."""
    found = {match[1] == b" " for line, _ in reply.lines if (match := _PREFIXED.match(line))}
    if not reply.streamed or not found:
        return None
    return ("space" if True in found else "bare") if len(found) == 1 else "mixed"


def json_spacing(reply: Reply) -> str | None:
    """How the first object is written: `{"a":1}`, `{"a": 1}`, or over several lines."""
    start = reply.body.find(b'{"') if b'{"' in reply.body else reply.body.find(b"{")
    if start < 0 or not reply.carriers:
        return None
    if reply.body[start : start + 2] != b'{"':
        return "lines"
    colon = reply.body.find(b'":', start)
    return "spaced" if reply.body[colon + 2 : colon + 3] == b" " else "compact"


def keep_alive(reply: Reply) -> str | None:
    """The comments of a stream, without their digits: some count or tell the time."""
    comments = {line for line, _ in reply.lines if line.startswith(b":")} if reply.streamed else set()
    texts = {_DIGITS.sub("#", comment[1:].decode("utf-8", "replace").strip()) for comment in comments}
    return " | ".join(sorted(texts))[:_LONGEST_VALUE] if texts else None


def error_shape(reply: Reply) -> str | None:
    """The keys of a refusal, and whether its code is a number."""
    if reply.status < 400:
        return None
    if not reply.carriers:
        return "page" if reply.body.lstrip()[:1] == b"<" else "text"
    return _shape(reply.first)


def kind_of(value: object) -> str:
    """The JSON kind of a value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    kinds = {int: "integer", float: "fraction", str: "string", list: "array", dict: "object"}
    return kinds.get(type(value), "other")


def _shape(body: Mapping[str, Any]) -> str:
    parts = []
    for key in sorted(body):
        inner = body[key]
        if isinstance(inner, dict) and key == "error":
            parts.append(f"{key}{{{_shape(inner)}}}")
        elif isinstance(inner, list):
            parts.append(f"{key}[]")
        else:
            parts.append(f"{key}#" if isinstance(inner, int | float) else key)
    return ",".join(parts)[:_LONGEST_VALUE]


def _inner_usage(reply: Reply) -> str | None:
    if any(as_object(carrier.get("x_groq")).get("usage") for carrier in reply.carriers):
        return "x_groq"
    return "choice" if any(choice.get("usage") for choice in reply.choices) else None


def _keys(objects: Iterable[Mapping[str, Any]]) -> str:
    return ",".join(sorted({key for one in objects for key in one}))


def _value(carrier: Mapping[str, Any], key: str) -> str:
    text = as_text(carrier.get(key))
    return text[:_LONGEST_VALUE] if text else _absence(carrier, key)


def _absence(carrier: Mapping[str, Any], key: str) -> str:
    if key not in carrier:
        return "absent"
    return "empty" if carrier[key] == "" else kind_of(carrier[key])

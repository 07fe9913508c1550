"""One response as it was written: its JSON objects in order, and the bytes around them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from probes.completion import Completion
from probes.plan import Sample
from probes.sse import EventDecoder
from probes.wire.body_form import BodyForm, sniff
from probes.wire.json_value import as_object, as_objects, parse_json

_LINE = re.compile(rb"([^\r\n]*)(\r\n|\n|\r|\Z)")
_DONE = b"[DONE]"


@dataclass(frozen=True)
class Reply:
    """`carriers` are the chunks of a stream, or the one body. Header names are lower case."""

    request: Mapping[str, Any]
    endpoint: str
    status: int
    headers: Mapping[str, str]
    body: bytes
    streamed: bool
    carriers: tuple[Mapping[str, Any], ...]
    completion: Completion | None

    @classmethod
    def of(cls, sample: Sample) -> Reply | None:
        """The last response of a sample; None where there was none."""
        attempt = sample.attempts[-1] if sample.attempts else None
        if attempt is None or attempt.http_status is None:
            return None
        streamed = sniff(attempt.body.lstrip(), attempt.headers.get("content-type", "")) is BodyForm.EVENTS
        texts = _data(attempt.body) if streamed else [attempt.body]
        return cls(
            sample.request or sample.item.request,
            sample.item.endpoint,
            attempt.http_status,
            attempt.headers,
            attempt.body,
            streamed,
            tuple(_objects(texts)),
            sample.completion,
        )

    @cached_property
    def first(self) -> Mapping[str, Any]:
        return self.carriers[0] if self.carriers else {}

    @cached_property
    def choices(self) -> tuple[Mapping[str, Any], ...]:
        """The first choice of each carrier that has one."""
        found = (as_objects(carrier.get("choices")) for carrier in self.carriers)
        return tuple(choices[0] for choices in found if choices)

    @cached_property
    def messages(self) -> tuple[Mapping[str, Any], ...]:
        """The delta, or the message, of each of `choices`."""
        return tuple(as_object(choice.get("delta")) or as_object(choice.get("message")) for choice in self.choices)

    @cached_property
    def calls(self) -> tuple[tuple[Mapping[str, Any], ...], ...]:
        """The call entries of each of `messages`."""
        return tuple(tuple(as_objects(message.get("tool_calls"))) for message in self.messages)

    @cached_property
    def lines(self) -> tuple[tuple[bytes, bytes], ...]:
        """Each line of the body with its end; the part after the last end is left out."""
        return tuple((line, end) for line, end in _LINE.findall(self.body) if end)


def _data(body: bytes) -> list[bytes]:
    decoder = EventDecoder()
    events = [*decoder.feed(body), *decoder.finish()]
    return [event.data for event in events if event.data.strip() != _DONE]


def _objects(texts: list[bytes]) -> Iterator[Mapping[str, Any]]:
    for text in texts:
        try:
            value = parse_json(text.decode("utf-8-sig", "replace"))
        except ValueError:
            continue
        if isinstance(value, dict):
            yield value

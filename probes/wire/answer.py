"""Gathers one answer, chunk by chunk or as one body; nothing is judged before its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from probes.quirks import Quirk
from probes.wire.asked import Asked
from probes.wire.call_slots import CallSlots
from probes.wire.envelope import Envelope
from probes.wire.finish import Finish
from probes.wire.json_value import as_integer, as_object, as_objects, strings_in
from probes.wire.message import Said, said
from probes.wire.provider_error import ProviderError, error_in, error_instead_of_answer
from probes.wire.surrogates import has_lone_surrogate, paired
from probes.wire.timeline import Timeline
from probes.wire.token_logprobs import Position, Shape, positions_in, shape_of
from probes.wire.usage import UsageCount

_REPLACEMENT = "\ufffd"


class Answer:
    """What has come of an answer so far. Of several choices the one that came first is read."""

    def __init__(self, asked: Asked, timeline: Timeline) -> None:
        self.asked = asked
        self.timeline = timeline
        self.quirks: set[Quirk] = set()
        self.streamed = False
        self.answered = False
        self.error: ProviderError | None = None
        self.envelope = Envelope(asked)
        self.contents: list[str] | None = None
        self.reasonings: list[str] = []
        self.refusals: list[str] = []
        self.calls = CallSlots(asked.tools)
        self.finish = Finish()
        self.usage = UsageCount()
        self.positions: list[Position] = []
        self.shape: Shape | None = None
        self.text_chunks = 0
        self.argument_chunks = 0
        self.covered_chunks = 0
        self._choice: int | None = None
        self._vacant = False

    @property
    def content(self) -> str | None:
        """The text, None where a plain answer has none."""
        return None if self.contents is None else paired("".join(self.contents))

    @property
    def reasoning(self) -> str:
        return paired("".join(self.reasonings))

    @property
    def refusal(self) -> str:
        return paired("".join(self.refusals))

    @property
    def has_output(self) -> bool:
        texts = (*(self.contents or ()), *self.reasonings, *self.refusals)
        return any(texts) or bool(self.calls.calls)

    @property
    def vacant(self) -> bool:
        """Whether the choices were empty and no answer came."""
        return self._vacant and not self.answered

    def open_stream(self) -> None:
        """The answer comes as an event stream: its text is what its deltas join to."""
        self.streamed = True
        self.contents = []

    def take_body(self, body: Mapping[str, Any], *, replaced: bool) -> None:
        """A whole JSON body. `replaced` is whether U+FFFD stands in its bytes."""
        self.error = error_instead_of_answer(body)
        self.envelope.take(body, streamed=False)
        self.usage.take(body)
        choices = as_objects(body.get("choices"))
        if not choices:
            self._vacant = self.error is None or "choices" in body
            return
        self.answered = True
        message = as_object(choices[0].get("message"))
        spoken = self._hear(choices[0], message, replaced=replaced)
        self.contents = None if spoken.content is None else [spoken.content]
        self.calls.take_message(message)
        self._take_logprobs(choices[0].get("logprobs"))
        self.finish.take(choices[0].get("finish_reason"))

    def take_chunk(self, chunk: Mapping[str, Any], *, replaced: bool, at: float | None) -> None:
        """One JSON event of a stream, `at` seconds after the request was sent."""
        self.timeline.mark_first("first_event", at)
        error = error_in(chunk)
        self.error = self.error or error
        self.envelope.take(chunk, streamed=True)
        counted = self._take_usage(chunk, at)
        choices = as_objects(chunk.get("choices"))
        if choices:
            self.answered = True
            tokens = self.usage.last.completion_tokens if counted and self.usage.last else None
            self._take_choice(self._own(choices), tokens, replaced=replaced, at=at)
        elif "choices" in chunk and error is not None:
            self.quirks.add(Quirk.EMPTY_CHOICES)
        elif "choices" in chunk and not counted:
            self._vacant = True

    def _take_usage(self, chunk: Mapping[str, Any], at: float | None) -> bool:
        before = self.usage.last
        if self.usage.take(chunk):
            self.timeline.mark_last("last_output", at)
        counted = self.usage.last is not before
        if counted:
            self.timeline.mark_last("usage", at)
        return counted

    def _own(self, choices: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
        """The choice that is read, None where the chunk holds only others."""
        if self._choice is None:
            self._choice = as_integer(choices[0].get("index"))
        return next((choice for choice in choices if as_integer(choice.get("index")) in (None, self._choice)), None)

    def _take_choice(
        self, choice: Mapping[str, Any] | None, tokens: int | None, *, replaced: bool, at: float | None
    ) -> None:
        if choice is None:
            return
        delta = as_object(choice.get("delta")) or as_object(choice.get("message"))
        if delta.get("role"):
            self.timeline.mark_first("first_role", at)
        spoken = self._hear(choice, delta, replaced=replaced)
        if self.contents is not None:
            self.contents.append(spoken.content or "")
        has_arguments = self.calls.take_delta(delta)
        self.argument_chunks += has_arguments
        has_calls = has_arguments or bool(delta.get("tool_calls"))
        entries = self._take_logprobs(choice.get("logprobs"))
        if spoken.content or spoken.reasoning or spoken.refusal:
            self.text_chunks += 1
            self.covered_chunks += entries > 0
        self._mark_output(spoken, has_calls, tokens or entries, at)
        if self.finish.take(choice.get("finish_reason")):
            self.timeline.mark_first("finish", at)
            if has_arguments:
                self.quirks.add(Quirk.TC_ARGS_WITH_FINISH)

    def _mark_output(self, spoken: Said, has_calls: bool, tokens: int, at: float | None) -> None:
        answered = len(spoken.content or "") + len(spoken.refusal) + has_calls
        size = answered + len(spoken.reasoning)
        if not size:
            return
        if answered:
            self.timeline.mark_first("first_answer", at)
        self.timeline.mark_output(at, size, tokens or None)

    def _hear(self, choice: Mapping[str, Any], message: Mapping[str, Any], *, replaced: bool) -> Said:
        spoken = said(message)
        if spoken.content is None and isinstance(choice.get("text"), str):
            spoken = replace(spoken, content=choice["text"])
        self.quirks |= spoken.quirks
        self.reasonings.append(spoken.reasoning)
        self.refusals.append(spoken.refusal)
        texts = [spoken.content or "", spoken.reasoning, spoken.refusal]
        if any(map(has_lone_surrogate, texts)):
            self.quirks.add(Quirk.LONE_SURROGATE)
        if replaced and any(_REPLACEMENT in text for text in [*texts, *strings_in(message.get("tool_calls"))]):
            self.quirks.add(Quirk.REPLACEMENT_CHAR)
        return spoken

    def _take_logprobs(self, logprobs: object) -> int:
        found = positions_in(logprobs)
        if found:
            self.shape = self.shape or shape_of(logprobs)
            self.positions += found
        return len(found)

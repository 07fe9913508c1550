"""What an answer says once it is read: one frozen `Completion`, whatever the wire looked like."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from probes.quirks import Disposition, Quirk

Endpoint = Literal["/v1/chat/completions", "/v1/completions"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One parsed call. Exactly one of `arguments` (decoded) and `arguments_raw` (undecodable text) is set.

    `arguments_recovered` is what undecodable text seems to have meant: for diagnosis, never scored. `arguments_text` is
    the argument text as a client gets it, decodable or not; where `as_string` is False the arguments came as a JSON
    value instead of a string, and it is that value written out. `extra` is what else the call object holds: some
    providers want it back with the call, a signature of their reasoning for one.
    """

    name: str
    id: str | None = None
    arguments: Mapping[str, Any] | None = None
    arguments_raw: str | None = None
    arguments_recovered: Mapping[str, Any] | None = None
    arguments_text: str = ""
    as_string: bool = True
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts of the last non-null usage; None where the endpoint did not say."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None

    def shown(self, *, with_reasoning: bool) -> int | None:
        """The output tokens that came. Reasoning that was not shown is counted with the rest, unless the total says
        that it is counted apart."""
        if self.completion_tokens is None or with_reasoning:
            return self.completion_tokens
        hidden = self.reasoning_tokens or 0
        apart = self.total_tokens == (self.prompt_tokens or 0) + self.completion_tokens + hidden
        return self.completion_tokens if apart else max(0, self.completion_tokens - hidden)


@dataclass(frozen=True, slots=True)
class TokenAlternative:
    """A token as the endpoint names it. `token_bytes` is None where neither bytes nor a faithful string came;
    `logprob` is None where the value is censored (sentinel, null)."""

    token: str
    token_bytes: bytes | None
    logprob: float | None


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """One output position: the sampled token and its alternatives (None where no list came)."""

    sampled: TokenAlternative
    top: tuple[TokenAlternative, ...] | None


@dataclass(frozen=True, slots=True)
class RetryAfter:
    header: str
    form: Literal["seconds", "http-date", "ms"]
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Timings:
    """Seconds after the request was sent, on a monotonic clock; None where the event did not come.

    `chunks` holds the arrival of every chunk with output (content, reasoning or tool call), so that any latency can
    be derived again; `first_output_tokens` is the number of tokens in the first of them, None if unknown.
    """

    headers: float | None = None
    first_event: float | None = None
    first_role: float | None = None
    first_output: float | None = None
    first_answer: float | None = None
    last_output: float | None = None
    finish: float | None = None
    usage: float | None = None
    done: float | None = None
    chunks: tuple[float, ...] = ()
    first_output_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    """An answer, normalised. `disposition` is the worst of its quirks', and error where the status or the body is none
    of an answer. `refusal` is what a model says in place of content that was to have a form. `unreadable` is True where
    the body is neither JSON nor an event stream: a web page, plain text."""

    disposition: Disposition
    quirks: tuple[Quirk, ...]
    http_status: int
    content: str | None = None
    reasoning: str | None = None
    refusal: str | None = None
    text: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str | None = None
    finish_reason_raw: str | None = None
    usage: Usage | None = None
    logprobs: tuple[TokenLogprob, ...] | None = None
    id: str | None = None
    model: str | None = None
    system_fingerprint: str | None = None
    served_by: str | None = None
    error_code: Any = None
    error_message: str | None = None
    retry_after: RetryAfter | None = None
    schema_valid: bool | None = None
    content_chunks: int = 0
    comments: int = 0
    timings: Timings = field(default_factory=Timings)
    unreadable: bool = False

    @property
    def shown_tokens(self) -> int | None:
        """How many tokens of output came, by the endpoint's count; None where it gave none."""
        return self.usage.shown(with_reasoning=bool(self.reasoning)) if self.usage is not None else None

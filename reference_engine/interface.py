"""The public interface of the reference engine: what a reference can be asked, whoever answers.

`ReferenceBackend` is implemented by the in-process engine and by remote engines; the callers never see which.
Log-probabilities are natural logarithms (nats) of the raw distribution at temperature 1, in float64.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    from reference_engine.constraint import Constraint
    from reference_engine.structure import Structure

Exactness = Literal["oracle", "bitwise", "approx"]
ToolsRendered = Literal["none", "template", "hermes"]
Message = Mapping[str, Any]
Tool = Mapping[str, Any]

BARE_ANSWER_TOKENS = 2048
"""What a reference's answer may have where the request names no limit; an endpoint has its own, which nobody knows."""


@dataclass(frozen=True, slots=True)
class TokenDistribution:
    """The distribution of the token at `index`, given the tokens before it.

    `token_id`, `logprob` and `rank` (0 is most likely) describe the token that stands there and are None at the
    position after the last given token. `top` is sorted by (-logprob, id). `chosen` holds the log-probabilities of the
    token ids that were asked for. `tail_mass` is 1 minus the mass of `top`.
    """

    index: int
    token_id: int | None
    logprob: float | None
    rank: int | None
    top: tuple[tuple[int, float], ...]
    chosen: Mapping[int, float]
    tail_mass: float


@dataclass(frozen=True, slots=True)
class Scored:
    """`positions` runs from `start` to `len(ids)` inclusive; the last one is the next-token distribution."""

    ids: tuple[int, ...]
    positions: tuple[TokenDistribution, ...]
    profile: str
    fingerprint: str
    exactness: Exactness

    @property
    def next(self) -> TokenDistribution:
        return self.positions[-1]


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """`temperature` 0 is greedy (ties go to the lowest token id); `stop` strings end the text and are not in it.

    `shown` are control tokens that add their text to the answer, which other control tokens do not.
    """

    max_tokens: int = 16
    temperature: float = 1.0
    top_p: float = 1.0
    seed: int | None = None
    stop: tuple[str, ...] = ()
    top_k_logprobs: int = 0
    ignore_eos: bool = False
    shown: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class GeneratedToken:
    """One generated token; `text` is what it adds to the answer ("" while a UTF-8 character is incomplete).

    `masked_logprob` is its log-probability among the tokens that the answer's constraint allowed at its place, at
    temperature 1; None where there was no constraint. `logprob` and `top` know of none.
    """

    token_id: int
    text: str
    logprob: float
    top: tuple[tuple[int, float], ...]
    finish_reason: Literal["stop", "length"] | None = None
    masked_logprob: float | None = None


@dataclass(frozen=True, slots=True)
class Rendered:
    """A conversation as the model reads it: the template's text and its token ids.

    `tools_rendered` says who told the model of the tools: nobody, for want of tools; its template; or, where that knows
    no tools, a block of text in Hermes' form.
    """

    text: str
    ids: tuple[int, ...]
    tools_rendered: ToolsRendered = "none"


@dataclass(frozen=True, slots=True)
class Description:
    """What a reference is: enough to tell two references apart, and to say which weights a verdict rests on."""

    name: str
    architecture: str
    weights_format: str
    weights_sha256: str
    tokenizer_sha256: str
    template_sha256: str
    vocab_size: int
    context_length: int
    profiles: tuple[str, ...]
    default_system_prompt: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


class TokenizerBackend(Protocol):
    """The part of a reference that needs no weights: enough for exact accounting."""

    def tokenize(self, text: str, *, parse_special: bool = True) -> list[int]: ...

    def token_bytes(self, token_id: int) -> bytes: ...

    def render(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool] | None = None,
        *,
        chat_template: str | None = None,
        add_generation_prompt: bool = True,
    ) -> Rendered: ...


class ReferenceBackend(TokenizerBackend, Protocol):
    """A trusted model. `score` and `next_tokens` are pure functions of (prefix, profile)."""

    def describe(self) -> Description: ...

    def fingerprint(self, profile: str) -> str: ...

    def score(
        self,
        ids: Sequence[int],
        *,
        start: int = 0,
        top_k: int = 20,
        token_ids: Sequence[int] | None = None,
        profile: str = "fp32",
    ) -> Scored: ...

    def next_tokens(
        self,
        prompts: Sequence[Sequence[int]],
        *,
        top_k: int = 20,
        token_ids: Sequence[Sequence[int]] | None = None,
        profile: str = "fp32",
    ) -> list[TokenDistribution]:
        """The next-token distribution of each prompt; `token_ids[i]` are wanted besides the top of prompt i."""
        ...

    def generate(
        self,
        ids: Sequence[int],
        params: SamplingParams,
        *,
        profile: str = "fp32",
        constraint: Constraint | None = None,
    ) -> Iterator[GeneratedToken]:
        """Tokens one by one; those of a constrained answer are drawn among the allowed ones. The constraint is copied:
        one may serve several answers."""
        ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server is, up to and with /v1; the bearer token that it lets in, None where it asks for none; and the
    path of the unix socket that leads there, None where the host and port of `base_url` do."""

    base_url: str
    token: str | None = field(repr=False)
    socket: str | None = None


@runtime_checkable
class ServableBackend(ReferenceBackend, Protocol):
    """A model that a server can hold conversations with."""

    @property
    def structure(self) -> Structure: ...


@runtime_checkable
class ServedBackend(ReferenceBackend, Protocol):
    """A model of a service, which holds conversations with it itself."""

    def served(self, profile: str) -> Address:
        """Where they are held, under `profile`. Raises EngineError."""
        ...

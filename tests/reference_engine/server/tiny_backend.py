"""A whole reference of 258 tokens: bytes, a start and an end. Deterministic, instant, and slow on demand."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from reference_engine.answer import AnswerText
from reference_engine.chat import ChatTemplate
from reference_engine.constraint import Constraint
from reference_engine.errors import EngineRequestError
from reference_engine.interface import (
    Description,
    GeneratedToken,
    Message,
    Rendered,
    SamplingParams,
    Scored,
    TokenDistribution,
    Tool,
)
from reference_engine.structure import CallForm

START, END, VOCABULARY = 256, 257, 258
TEMPLATE = (
    "{% for m in messages %}<s>{{ m.role }}|{{ m.content }}{% for c in m.tool_calls %}{{ c.function.arguments.q }}"
    "{% endfor %}<e>{% endfor %}{% for t in tools or [] %}<s>tool {{ t.function.name }}<e>{% endfor %}<s>assistant|"
)


def encode(text: str) -> list[int]:
    ids: list[int] = []
    for index, stretch in enumerate(text.split("<s>")):
        ids += [START] if index else []
        for position, piece in enumerate(stretch.split("<e>")):
            ids += [END] if position else []
            ids += piece.encode()
    return ids


class TinyStructure:
    """It was taught to write calls, and cannot be held to anything."""

    def call_form(self, chat_template: str | None = None) -> CallForm:
        return CallForm("hermes", ())

    def held_to_schema(self, schema: Mapping[str, Any]) -> Constraint:
        raise EngineRequestError("The tiny reference holds no answer to a schema.")

    def held_to_calls(self, tools: Sequence[Tool], form: CallForm, *, several: bool) -> Constraint:
        raise EngineRequestError("The tiny reference holds no answer to calls.")


@dataclass
class TinyBackend:
    """`script` is what it says greedily, byte for byte; without one, its answers are printable noise that may end.

    Set `gate` to hold every step until the event is set. `steps` notes whose step was computed (the prompt's last
    byte but the template's), and `abandoned` is set when a generation was closed before its end.
    """

    script: bytes = b""
    context_length: int = 512
    gate: threading.Event | None = None
    failing_after: int | None = None
    failure: Exception = field(default_factory=lambda: ValueError("the private prompt text"))
    steps: list[int] = field(default_factory=list)
    abandoned: threading.Event = field(default_factory=threading.Event)
    stepping: threading.Event = field(default_factory=threading.Event)
    prefills: int = 0

    PROFILES: ClassVar[tuple[str, ...]] = ("fp32", "bf16")

    def describe(self) -> Description:
        return Description(
            name="tiny",
            architecture="tiny",
            weights_format="none",
            weights_sha256="0" * 64,
            tokenizer_sha256="1" * 64,
            template_sha256="2" * 64,
            vocab_size=VOCABULARY,
            context_length=self.context_length,
            profiles=self.PROFILES,
        )

    def fingerprint(self, profile: str) -> str:
        if profile not in self.PROFILES:
            raise EngineRequestError(f"Unknown profile {profile!r}.", remedy=f"Use one of: {', '.join(self.PROFILES)}.")
        return f"fp_{hashlib.sha256(profile.encode()).hexdigest()[:12]}"

    def tokenize(self, text: str, *, parse_special: bool = True) -> list[int]:
        return encode(text) if parse_special else list(text.encode())

    def token_bytes(self, token_id: int) -> bytes:
        return {START: b"<s>", END: b"<e>"}.get(token_id) or bytes([token_id])

    def render(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool] | None = None,
        *,
        chat_template: str | None = None,
        add_generation_prompt: bool = True,
    ) -> Rendered:
        template = ChatTemplate(TEMPLATE, {})
        text = template.render(messages, tools, chat_template=chat_template)
        return Rendered(text, tuple(encode(text)), template.tools_rendered(tools, chat_template=chat_template))

    def score(
        self,
        ids: Sequence[int],
        *,
        start: int = 0,
        top_k: int = 20,
        token_ids: Sequence[int] | None = None,
        profile: str = "fp32",
    ) -> Scored:
        positions = tuple(self._position(ids, index, top_k, token_ids or ()) for index in range(start, len(ids) + 1))
        return Scored(tuple(ids), positions, profile, self.fingerprint(profile), "oracle")

    def next_tokens(
        self,
        prompts: Sequence[Sequence[int]],
        *,
        top_k: int = 20,
        token_ids: Sequence[Sequence[int]] | None = None,
        profile: str = "fp32",
    ) -> list[TokenDistribution]:
        return [self._position(prompt, len(prompt), top_k, ()) for prompt in prompts]

    @property
    def structure(self) -> TinyStructure:
        return TinyStructure()

    def generate(
        self, ids: Sequence[int], params: SamplingParams, *, profile: str = "fp32"
    ) -> Iterator[GeneratedToken]:
        known, text = list(ids), AnswerText(params.stop)
        rng = np.random.default_rng(None if params.seed is None else params.seed % 2**64)
        self.prefills += 1
        try:
            for count in range(1, params.max_tokens + 1):
                self._step(ids, count)
                values = self._logprobs(known)
                token_id = _sample(values, params, rng)
                known.append(token_id)
                piece = text.feed(b"" if token_id == END else self.token_bytes(token_id))
                ended = text.stopped or token_id == END
                reason = "stop" if ended else "length" if count == params.max_tokens else None
                piece += text.finish() if reason else ""
                top = _top(values, params.top_k_logprobs)
                yield GeneratedToken(token_id, piece, float(values[token_id]), top, reason)
                if reason:
                    return
        except GeneratorExit:
            self.abandoned.set()
            raise

    def close(self) -> None:
        return None

    def _step(self, ids: Sequence[int], count: int) -> None:
        if self.failing_after is not None and count > self.failing_after:
            raise self.failure
        self.stepping.set()
        if self.gate is not None and not self.gate.wait(60):
            raise TimeoutError("the test never opened the gate")
        self.steps.append(ids[0])

    def _position(self, ids: Sequence[int], index: int, top_k: int, wanted: Sequence[int]) -> TokenDistribution:
        values = self._logprobs(ids[:index])
        known = ids[index] if index < len(ids) and index > 0 else None
        top = _top(values, top_k)
        return TokenDistribution(
            index=index,
            token_id=ids[index] if index < len(ids) else None,
            logprob=None if known is None else float(values[known]),
            rank=None if known is None else int((values > values[known]).sum()),
            top=top,
            chosen={one: float(values[one]) for one in wanted},
            tail_mass=1.0 - float(sum(np.exp(value) for _, value in top)),
        )

    def _logprobs(self, ids: Sequence[int]) -> NDArray[np.float64]:
        digest = hashlib.sha256(repr(list(ids[-3:])).encode()).digest()
        logits = np.random.default_rng(int.from_bytes(digest[:8], "big")).normal(0, 2, VOCABULARY)
        logits[[*range(32), *range(127, 256), START]] -= 20
        if self.script:
            logits[self._scripted(ids)] += 40
        shifted: NDArray[np.float64] = logits - logits.max()
        return shifted - np.log(np.exp(shifted).sum())

    def _scripted(self, ids: Sequence[int]) -> int:
        said = next(k for k in range(len(self.script), -1, -1) if list(self.script[:k]) == list(ids[len(ids) - k :]))
        return self.script[said] if said < len(self.script) else END


class Endless(TinyBackend):
    """Says the same letter for as long as anyone listens."""

    def __init__(self, gate: threading.Event | None = None) -> None:
        super().__init__(script=b"z", context_length=10**9, gate=gate)

    def _scripted(self, ids: Sequence[int]) -> int:
        return self.script[0]


def _top(values: NDArray[np.float64], top_k: int) -> tuple[tuple[int, float], ...]:
    order = np.lexsort((np.arange(len(values)), -values))[:top_k]
    return tuple((int(one), float(values[one])) for one in order)


def _sample(values: NDArray[np.float64], params: SamplingParams, rng: np.random.Generator) -> int:
    if params.temperature == 0:
        return int(values.argmax())
    weights = np.exp((values - values.max()) / params.temperature)
    order = np.argsort(-weights)
    kept = order[: int(np.searchsorted(np.cumsum(weights[order]) / weights.sum(), params.top_p)) + 1]
    return int(rng.choice(kept, p=weights[kept] / weights[kept].sum()))


def chat(text: str, **more: Any) -> Mapping[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": text}], **more}

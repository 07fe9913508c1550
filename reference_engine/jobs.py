"""What a caller waits for: the distributions of known tokens, or an answer that grows token by token."""

from __future__ import annotations

import queue
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from reference_engine.answer import AnswerText
from reference_engine.forward.batch import ReadOut
from reference_engine.forward.reading import joined
from reference_engine.interface import GeneratedToken, SamplingParams
from reference_engine.masks import Masks
from reference_engine.sample import Draw
from reference_engine.sched.request import Request

NO_TOKEN = -1

FinishReason = Literal["stop", "length"]


@dataclass(slots=True)
class ScoreJob:
    """Collects what is read of its rows, in ascending order. The engine's thread fills it; the caller has `result`."""

    request: Request
    top_k: int
    chosen: Sequence[int]
    result: Future[ReadOut] = field(default_factory=Future)
    rows: list[ReadOut] = field(default_factory=list)

    def own_token(self, row: int) -> int:
        """The token that stands after the row, whose log-probability the row gives."""
        known = self.request.known
        return known[row + 1] if row + 1 < len(known) else NO_TOKEN

    def finish(self) -> ReadOut:
        whole = joined(self.rows)
        if self.result.set_running_or_notify_cancel():
            self.result.set_result(whole)
        return whole

    def fail(self, error: BaseException) -> None:
        if self.result.set_running_or_notify_cancel():
            self.result.set_exception(error)


class _Taken(NamedTuple):
    """A token before it is handed out; `line` of `read` gave it as its own."""

    token_id: int
    text: str
    read: ReadOut
    line: int
    masked_logprob: float | None
    finish_reason: FinishReason | None

    def token(self, top_k: int) -> GeneratedToken:
        logprob = float(self.read.own_logit[self.line]) - float(self.read.log_normaliser[self.line])
        top = top_of(self.read, self.line)[:top_k] if top_k else ()
        return GeneratedToken(self.token_id, self.text, logprob, top, self.finish_reason, self.masked_logprob)


@dataclass(slots=True)
class GenerateJob:
    """Takes tokens as they are made and puts them into `tokens` when they are handed out. The last one has a finish
    reason; an error ends them too, and None, where nobody wants more."""

    request: Request
    params: SamplingParams
    seed: int
    stops: frozenset[int]
    shown_bytes: Callable[[int], bytes]
    masks: Masks | None = None
    tokens: queue.SimpleQueue[GeneratedToken | BaseException | None] = field(default_factory=queue.SimpleQueue)
    answer: AnswerText = field(init=False)
    made: int = 0
    _taken: list[_Taken] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.answer = AnswerText(self.params.stop)

    def draw(self, position: int) -> Draw:
        return Draw(self.params.temperature, self.params.top_p, self.seed, position)

    def take(self, token_id: int, read: ReadOut, line: int, masked_logprob: float | None) -> bool:
        """One more token, which `line` of `read` gave as its own; True where it ends the answer."""
        self.made += 1
        text, finish_reason = self._text(token_id)
        self._taken.append(_Taken(token_id, text, read, line, masked_logprob, finish_reason))
        if finish_reason is not None:
            return True
        if self.masks is not None:
            self.masks.took(token_id)
        return False

    def hand_out(self) -> None:
        for taken in self._taken:
            self.tokens.put(taken.token(self.params.top_k_logprobs))
        self._taken.clear()

    def fail(self, error: BaseException) -> None:
        self.hand_out()
        self.tokens.put(error)

    def give_up(self) -> None:
        self.tokens.put(None)

    def _text(self, token_id: int) -> tuple[str, FinishReason | None]:
        """What the token adds to the answer, and why it is the last one where it is."""
        if token_id in self.stops and not self.params.ignore_eos:
            return self.answer.finish(), "stop"
        text = self.answer.feed(self.shown_bytes(token_id))
        last = self.made == self.request.max_tokens
        if last:
            text += self.answer.finish()
        if self.answer.stopped:
            return text, "stop"
        return text, "length" if last else None


Job = ScoreJob | GenerateJob


def top_of(read: ReadOut, line: int) -> tuple[tuple[int, float], ...]:
    """The most likely tokens of one distribution with their log-probabilities."""
    logprobs = read.top_logits[line].astype("float64") - read.log_normaliser[line]
    return tuple(zip(read.top_ids[line].tolist(), logprobs.tolist(), strict=True))

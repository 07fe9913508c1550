"""What a caller waits for: the distributions of known tokens, or an answer that grows token by token."""

from __future__ import annotations

import queue
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace

from reference_engine.answer import AnswerText
from reference_engine.forward.batch import ReadOut
from reference_engine.forward.reading import joined
from reference_engine.interface import GeneratedToken, SamplingParams
from reference_engine.masks import Masks
from reference_engine.sample import Draw
from reference_engine.sched.request import Request

NO_TOKEN = -1


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


@dataclass(slots=True)
class GenerateJob:
    """Puts tokens into `tokens` as they are made. The last one has a finish reason; an error ends them too, and None,
    where nobody wants more."""

    request: Request
    params: SamplingParams
    seed: int
    stops: frozenset[int]
    shown_bytes: Callable[[int], bytes]
    masks: Masks | None = None
    tokens: queue.SimpleQueue[GeneratedToken | BaseException | None] = field(default_factory=queue.SimpleQueue)
    answer: AnswerText = field(init=False)
    made: int = 0

    def __post_init__(self) -> None:
        self.answer = AnswerText(self.params.stop)

    def draw(self, position: int) -> Draw:
        return Draw(self.params.temperature, self.params.top_p, self.seed, position)

    def take(self, token_id: int, read: ReadOut, line: int, masked_logprob: float | None) -> bool:
        """One more token, which `line` of `read` gave as its own; True where it ends the answer."""
        token = replace(self._token(token_id, read, line), masked_logprob=masked_logprob)
        self.tokens.put(token)
        if token.finish_reason is not None:
            return True
        if self.masks is not None:
            self.masks.took(token_id)
        return False

    def fail(self, error: BaseException) -> None:
        self.tokens.put(error)

    def give_up(self) -> None:
        self.tokens.put(None)

    def _token(self, token_id: int, read: ReadOut, line: int) -> GeneratedToken:
        self.made += 1
        logprob = float(read.own_logit[line]) - float(read.log_normaliser[line])
        top = top_of(read, line)[: self.params.top_k_logprobs]
        if token_id in self.stops and not self.params.ignore_eos:
            return GeneratedToken(token_id, self.answer.finish(), logprob, top, "stop")
        text = self.answer.feed(self.shown_bytes(token_id))
        last = self.made == self.request.max_tokens
        if last:
            text += self.answer.finish()
        if self.answer.stopped or last:
            return GeneratedToken(token_id, text, logprob, top, "stop" if self.answer.stopped else "length")
        return GeneratedToken(token_id, text, logprob, top)


Job = ScoreJob | GenerateJob


def top_of(read: ReadOut, line: int) -> tuple[tuple[int, float], ...]:
    """The most likely tokens of one distribution with their log-probabilities."""
    logprobs = read.top_logits[line].astype("float64") - read.log_normaliser[line]
    return tuple(zip(read.top_ids[line].tolist(), logprobs.tolist(), strict=True))

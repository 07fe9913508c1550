"""What a generating request takes from passes, and when its reader gets it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from reference_engine.errors import EngineError
from reference_engine.forward.batch import ReadOut
from reference_engine.interface import GeneratedToken, SamplingParams
from reference_engine.jobs import GenerateJob
from reference_engine.sched.request import Request

END = 9


def read_of(token: int) -> ReadOut:
    """One row over ten tokens: the given one twice as likely as token 0, and no other."""
    return ReadOut(
        log_normaliser=np.array([math.log(3)]),
        top_ids=np.array([[token, 0]], dtype=np.int32),
        top_logits=np.array([[math.log(2), 0.0]], dtype=np.float32),
        own_logit=np.array([math.log(2)], dtype=np.float32),
        own_rank=np.zeros(1, dtype=np.int32),
        chosen_logits=np.empty((1, 0), dtype=np.float32),
    )


@pytest.fixture
def job() -> GenerateJob:
    params = SamplingParams(max_tokens=3, top_k_logprobs=1)
    request = Request("r1", [1, 2], max_tokens=3)
    return GenerateJob(request, params, seed=0, stops=frozenset({END}), shown_bytes=lambda token: b"%d" % token)


def taken(job: GenerateJob, *tokens: int) -> list[bool]:
    return [job.take(token, read_of(token), 0, None) for token in tokens]


def handed_out(job: GenerateJob) -> list[GeneratedToken | BaseException | None]:
    return [job.tokens.get_nowait() for _ in range(job.tokens.qsize())]


def test_a_token_is_taken_first_and_handed_out_when_the_engine_says_so(job: GenerateJob) -> None:
    assert taken(job, 4, 5) == [False, False]
    assert handed_out(job) == []

    job.hand_out()
    first, second = handed_out(job)
    job.hand_out()

    assert isinstance(first, GeneratedToken)
    assert isinstance(second, GeneratedToken)
    assert (first.token_id, first.text, first.finish_reason) == (4, "4", None)
    assert first.logprob == pytest.approx(math.log(2 / 3))
    assert [token for token, _ in second.top] == [5]
    assert handed_out(job) == []


@pytest.mark.parametrize(("tokens", "reason"), [([4, 5, 6], "length"), ([4, END], "stop")])
def test_the_last_token_ends_the_answer_before_it_is_handed_out(
    job: GenerateJob, tokens: list[int], reason: str
) -> None:
    assert taken(job, *tokens)[-1] is True

    job.hand_out()

    *_, last = handed_out(job)
    assert isinstance(last, GeneratedToken)
    assert last.finish_reason == reason


def test_what_was_made_before_an_error_reaches_the_reader_before_it(job: GenerateJob) -> None:
    error = EngineError("broken", remedy="none")
    taken(job, 4)

    job.fail(error)

    token, last = handed_out(job)
    assert isinstance(token, GeneratedToken)
    assert last is error

"""Times by prompt size, and which requests kept a promise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probes.completion import Completion, Timings, Usage
from probes.load.summary import Promise, Share, buffered, figures, goodput
from probes.load.times import StreamLatency, bucket_of, latency_of
from probes.plan import Item, Outcome, Sample
from probes.quirks import Disposition

STEADY = tuple(0.5 + 0.1 * index for index in range(11))


def stream(
    *chunks: float, tokens: int | None = 11, prompt: int | None = 300, late: float | None = None, **more: Any
) -> Sample:
    timings = Timings(
        first_output=chunks[0] if chunks else None,
        first_answer=chunks[0] if chunks else None,
        last_output=chunks[-1] if chunks else None,
        finish=chunks[-1] + 0.1 if chunks else None,
        chunks=chunks,
        **more,
    )
    usage = Usage(prompt_tokens=prompt, completion_tokens=tokens)
    completion = Completion(Disposition.ACCEPT, (), 200, usage=usage, timings=timings)
    return Sample(Item("load/1/x", 0, {}), Outcome.OK, completion, (), late_s=late)


def times(sample: Sample) -> StreamLatency:
    found = latency_of(sample)
    assert found is not None
    return found


def failed(outcome: Outcome) -> Sample:
    return Sample(Item("load/1/x", 0, {}), outcome, None, ())


def test_times_to_something_count_from_when_the_request_was_due_and_paces_do_not() -> None:
    prompt, on_time = times(stream(*STEADY, late=2.0)), times(stream(*STEADY))

    assert (prompt.ttft, prompt.ttfa, prompt.end_to_end) == pytest.approx((2.5, 2.5, 3.6))
    assert (on_time.ttft, on_time.ttfa, on_time.end_to_end, on_time.late) == pytest.approx((0.5, 0.5, 1.6, 0.0))
    assert prompt.tpot == on_time.tpot == pytest.approx(0.1)
    assert prompt.gap_max == on_time.gap_max == pytest.approx(0.1)


def test_chunks_are_no_tokens() -> None:
    found = times(stream(*STEADY, tokens=44))

    assert found.tokens_per_chunk == 4.0
    assert found.gap_median == pytest.approx(0.1)
    assert found.tpot == pytest.approx(1.0 / 43)


@pytest.mark.parametrize(
    ("reasoning", "total", "came"), [(None, 361, 11), (None, 411, 61), (None, None, 11), ("Hm.", 361, 61)]
)
def test_reasoning_that_was_not_shown_is_no_part_of_the_pace(
    reasoning: str | None, total: int | None, came: int
) -> None:
    """Fifty tokens of it: counted with the answer's, or apart from them."""
    sample = stream(*STEADY)
    usage = Usage(300, 61, total, reasoning_tokens=50)
    assert sample.completion is not None
    completion = replace(sample.completion, usage=usage, reasoning=reasoning)

    found = times(replace(sample, completion=completion))

    assert found.tpot == pytest.approx(1.0 / (came - 1))
    assert found.tokens_per_chunk == pytest.approx(came / 11)


def test_a_buffered_stream_has_no_pace() -> None:
    found = times(stream(2.0))

    assert found.buffered
    assert (found.tpot, found.gap_median, found.gap_max, found.tokens_per_chunk) == (None, None, None, None)
    assert found.ttft == 2.0


def test_what_brought_no_output_has_no_times() -> None:
    assert latency_of(stream()) is None
    assert latency_of(failed(Outcome.TIMEOUT)) is None


@pytest.mark.parametrize(
    ("tokens", "bucket"),
    [(None, "unknown"), (0, "0k-1k"), (999, "0k-1k"), (1_000, "1k-4k"), (31_999, "16k-32k"), (200_000, "128k-")],
)
def test_a_prompt_falls_into_the_bucket_of_its_size(tokens: int | None, bucket: str) -> None:
    assert bucket_of(tokens) == bucket


def test_figures_are_by_bucket_metric_and_quantile_and_leave_out_what_has_no_values() -> None:
    few = [times(stream(*STEADY, prompt=300)) for _ in range(20)]
    many = [times(stream(3.0, prompt=5_000)) for _ in range(2)]

    found = {(one.bucket, one.metric, one.quantile): one for one in figures([*few, *many])}

    assert found["0k-1k", "ttft", 0.95].at.estimate == 0.5
    assert found["0k-1k", "ttft", 0.95].n == 20
    assert found["0k-1k", "ttft", 0.99].at.estimate is None
    assert {metric for bucket, metric, _ in found if bucket == "4k-16k"} == {"ttft", "ttfa", "end_to_end"}


def test_goodput_is_the_share_that_kept_every_limit() -> None:
    samples = [
        stream(*STEADY),
        stream(*STEADY, late=3.0),
        stream(*STEADY, tokens=3),
        stream(0.9),
        stream(1.9),
        failed(Outcome.TIMEOUT),
        failed(Outcome.HTTP_ERROR),
        failed(Outcome.RATE_LIMITED),
        stream(),
        stream(first_event=0.1),
    ]

    found = goodput(samples, [Promise(ttft=1.0, tpot=0.2)])

    # Late, slow by the token, slow to begin, failed twice and empty; of one that was buffered the pace is not known.
    excluded = {"tpot unknown": 1, "rate_limited": 1, "not streamed": 1}
    assert found == Share(met=1, counted=7, excluded=excluded)
    assert found.value == pytest.approx(1 / 7)


def test_what_our_own_pace_held_back_is_no_latency() -> None:
    found = times(replace(stream(*STEADY, late=2.5), held_s=2.0))

    assert (found.late, found.ttft) == pytest.approx((0.5, 1.0))


def test_a_stream_without_a_count_is_of_the_size_that_was_meant() -> None:
    uncounted = Item("load/2000/abc", 0, {})

    assert times(replace(stream(*STEADY, prompt=None), item=uncounted)).bucket == "1k-4k"
    assert times(replace(stream(*STEADY, prompt=None), item=Item("latency-abc", 0, {}))).bucket == "unknown"


def test_a_promise_may_be_for_small_prompts_alone() -> None:
    promises = [Promise(ttft=0.4, up_to=1_000), Promise(ttft=2.0)]
    small, large = stream(*STEADY, prompt=1_000), stream(*STEADY, prompt=1_001)

    assert goodput([small, large], promises) == Share(1, 2)
    assert goodput([small, large], promises[:1]) == Share(0, 1, {"nothing promised": 1})
    refused = replace(failed(Outcome.REFUSED), item=Item("load/6000/x", 0, {}))
    assert goodput([refused], promises) == Share(0, 0, {"refused": 1})


def test_streams_that_brought_all_at_once_are_counted_where_it_can_be_told() -> None:
    samples = [stream(2.0), stream(*STEADY), stream(2.0, tokens=7), failed(Outcome.TIMEOUT)]

    assert buffered(samples) == Share(1, 2, {"few tokens": 1})


def test_goodput_of_nothing_is_unknown() -> None:
    assert goodput([], [Promise(ttft=1.0)]).value is None


@settings(max_examples=30)
@given(st.lists(st.floats(0.01, 5), min_size=1, max_size=20), st.floats(0, 5), st.floats(0, 5))
def test_a_looser_promise_is_kept_at_least_as_often(firsts: list[float], limit: float, more: float) -> None:
    samples = [stream(first, first + 1) for first in firsts]

    assert goodput(samples, [Promise(ttft=limit)]).met <= goodput(samples, [Promise(ttft=limit + more)]).met

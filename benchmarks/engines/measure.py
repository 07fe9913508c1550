"""What the first table holds of one engine: its figures of one round, and whether its bits stay the same."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from itertools import chain
from statistics import median

from benchmarks.engines.job import Job, Sizes
from benchmarks.engines.prompts import Prompts
from benchmarks.engines.subject import Generated, NotOfferedError, Subject

Open = Callable[[Job], Subject]
SAME_BITS = ("in a batch", "after a prefix")


def figures(open_subject: Open, job: Job) -> dict[str, float | None]:
    """Tokens per second of each cell, milliseconds for `ttft`; None is not offered."""
    with closing(open_subject(job)) as subject:
        prompts = Prompts(job.seed, subject.vocabulary)
        warm_up(subject, prompts, job.sizes)
        return {cell: figure(subject, prompts, job.sizes, cell) for cell in job.cells}


def warm_up(subject: Subject, prompts: Prompts, sizes: Sizes) -> None:
    subject.generate(prompts.fresh(2, sizes.prompt), 4)
    subject.generate(prompts.fresh(1, sizes.prefill), 1)
    _scoring(subject, prompts.fresh(2, sizes.scored_tokens), sizes.top_k)


def figure(subject: Subject, prompts: Prompts, sizes: Sizes, cell: str) -> float | None:
    """Of one cell, with prompts that are new."""
    match cell.split("_"):
        case ["decode", "1"]:
            return median(rate(_decoded(subject, prompts, sizes, 1)) for _ in range(sizes.repeats))
        case ["decode", concurrent]:
            return rate(_decoded(subject, prompts, sizes, int(concurrent)))
        case ["prefill"]:
            return sizes.prefill / median(_first(subject, prompts, sizes.prefill) for _ in range(sizes.repeats))
        case ["ttft"]:
            return 1e3 * median(_first(subject, prompts, sizes.prompt) for _ in range(sizes.repeats))
        case _:
            return _scoring(subject, prompts.fresh(sizes.scored, sizes.scored_tokens), sizes.top_k)


def _decoded(subject: Subject, prompts: Prompts, sizes: Sizes, concurrent: int) -> Generated:
    return subject.generate(prompts.fresh(concurrent, sizes.prompt), sizes.new)


def _first(subject: Subject, prompts: Prompts, length: int) -> float:
    """Seconds to the first token of one prompt."""
    generated = subject.generate(prompts.fresh(1, length), 1)
    return generated.tokens[0][0] - generated.start


def _scoring(subject: Subject, prompts: list[list[int]], top_k: int) -> float | None:
    start = time.perf_counter()
    try:
        subject.score(prompts, top_k)
    except NotOfferedError:
        return None
    return sum(map(len, prompts)) / (time.perf_counter() - start)


def rate(generated: Generated) -> float:
    """Tokens per second while all answers were being written: prompts are not in it, nor is a batch running dry.

    Where the answers never ran side by side for half of their tokens, all tokens after the first count, over all that
    time.
    """
    begun = max(times[0] for times in generated.tokens)
    ended = min(times[-1] for times in generated.tokens)
    times = sorted(chain.from_iterable(generated.tokens))
    side_by_side = sum(begun < at <= ended for at in times)
    if 2 * side_by_side >= len(times) - len(generated.tokens):
        return side_by_side / (ended - begun)
    return (len(times) - 1) / (times[-1] - times[0])


def same_bits(open_subject: Open, job: Job) -> dict[str, str]:
    """Whether log-probabilities are those of the prompt alone, bit for bit.

    Each way of running the prompts has an engine of its own, so that none finds another's numbers in a cache.
    """
    sizes = job.sizes
    with closing(open_subject(job)) as subject:
        prompts = Prompts(job.seed, subject.vocabulary).fresh(sizes.compared, sizes.prompt)
        alone = [subject.logprobs([prompt], sizes.compared_new)[0] for prompt in prompts]
    with closing(open_subject(job)) as subject:
        together = subject.logprobs(prompts, sizes.compared_new)
    with closing(open_subject(job)) as subject:
        # A long rest runs as a prompt does, a rest of one token as an answer does.
        known = (sizes.prompt * 3 // 4, sizes.prompt - 1)
        resumed = [
            subject.logprobs_after(prompt, known[place % 2], sizes.compared_new) for place, prompt in enumerate(prompts)
        ]
    return {way: "yes" if found == alone else "no" for way, found in zip(SAME_BITS, (together, resumed), strict=True)}

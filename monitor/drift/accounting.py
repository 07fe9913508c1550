"""Does the endpoint count the prompt's tokens as the reference does, and as it did before?"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from monitor.drift.observation import FloatArray, Observation
from monitor.drift.relabelling import (
    RELABELLINGS,
    Pool,
    PromptTable,
    Standardised,
    p_value,
    splits,
    standardise_anchors,
    standardise_pool,
)


@dataclass(frozen=True, slots=True)
class CountTest:
    """Tokens beyond the reference's count: the most common difference, its range, and p against the baseline.

    offset is None without a reference tokenizer; `constant` says that all offsets but zeros are one number, as a
    changed default system prompt makes them (prompts with a system message of their own keep theirs); `moved` is the
    change of the most common count against the baseline, in tokens; p is None without a baseline.
    """

    offset: int | None
    low: int | None
    high: int | None
    constant: bool
    moved: int | None
    p: float | None
    n: int


def offsets(observations: Sequence[Observation]) -> list[int]:
    """usage.prompt_tokens minus the reference's count, one per answer that has both."""
    return [
        o.prompt_tokens - o.expected_prompt_tokens
        for o in observations
        if o.prompt_tokens is not None and o.expected_prompt_tokens is not None
    ]


def count_test(
    baseline: Sequence[Observation], new: Sequence[Observation], *, seed: int = 0, count: int = RELABELLINGS
) -> CountTest | None:
    """None where the endpoint reports no counts. Each anchor is compared with its own past, and single-use answers by
    their offsets, which takes a reference: where these depend on the prompt, anchors are a few draws of them that come
    again and again, and no measure of what other prompts have."""
    counted = [o for o in new if o.prompt_tokens is not None]
    if not counted:
        return None
    rng = np.random.default_rng(seed)
    parts = [found for found in (_anchors(baseline, new, count, rng), _singles(baseline, new, count, rng)) if found]
    moved = next((part.moved for part in parts if part.moved), 0) if parts else None
    p = _p([part.test for part in parts]) if parts else None
    now = offsets(new)
    if not now:
        return CountTest(None, None, None, False, moved, p, len(counted))
    return CountTest(_mode(now), min(now), max(now), len(set(now) - {0}) <= 1, moved, p, len(now))


@dataclass(frozen=True, slots=True)
class _Part:
    """What came of the anchors, or of the single-use answers: in the first column how far counts moved together."""

    moved: int
    test: Standardised


def _mode(values: Sequence[int]) -> int:
    return Counter(values).most_common(1)[0][0]


def _p(tests: Sequence[Standardised]) -> float:
    """Of the largest |z|: of the moves of both parts together, and of each other statistic alone."""
    moving = [test for test in tests if test.relabelled.any()]
    if not moving:
        return 1.0

    def largest(values: Sequence[FloatArray]) -> FloatArray:
        together = sum(part[..., 0] for part in values) / np.sqrt(len(values))
        others = [np.abs(part[..., 1:]).max(axis=-1, initial=0.0) for part in values]
        return np.asarray(np.max([np.abs(together), *others], axis=0))

    observed = float(largest([test.observed for test in moving]))
    return p_value(observed, largest([test.relabelled for test in moving]))


def _singles(
    baseline: Sequence[Observation], new: Sequence[Observation], count: int, rng: np.random.Generator
) -> _Part | None:
    past, now = (offsets([o for o in side if not o.anchor]) for side in (baseline, new))
    if not past or not now:
        return None
    scores = np.array([*past, *now], dtype=np.float64)
    pool = Pool(np.column_stack([scores, np.abs(scores - np.median(scores))]), np.arange(scores.size) >= len(past))
    return _Part(_mode(now) - _mode(past), standardise_pool(pool, count, rng))


def _anchors(
    baseline: Sequence[Observation], new: Sequence[Observation], count: int, rng: np.random.Generator
) -> _Part | None:
    past, now = _by_prompt(baseline), _by_prompt(new)
    tables, steps = [], []
    for key in sorted(past.keys() & now.keys()):
        counts = np.array([*past[key], *now[key]], dtype=np.float64)
        tables.append(_difference_table(counts, np.arange(counts.size) >= len(past[key]), rng))
        steps.append(_mode(now[key]) - _mode(past[key]))
    return _Part(_mode(steps), standardise_anchors(tables, count, rng)) if tables else None


def _by_prompt(observations: Sequence[Observation]) -> dict[str, list[int]]:
    """The counts of each anchor, one a run: its repeats there are counted by the same machine."""
    found: dict[str, list[int]] = defaultdict(list)
    for o in observations:
        if o.anchor and o.rep == 0 and o.prompt_tokens is not None:
            found[o.item_key].append(o.prompt_tokens)
    return found


def _difference_table(counts: FloatArray, flags: np.ndarray, rng: np.random.Generator) -> PromptTable:
    ways = splits(flags.size, np.flatnonzero(flags).tolist(), rng)
    mean_new = counts[ways.members].mean(axis=1)
    mean_old = (counts.sum() - counts[ways.members].sum(axis=1)) / (flags.size - ways.members.shape[1])
    return PromptTable((mean_new - mean_old)[:, np.newaxis])

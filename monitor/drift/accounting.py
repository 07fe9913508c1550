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
    """None where the endpoint reports no counts. With a reference all answers are compared by their offset; without
    one, only the anchors with their own past."""
    counted = [o for o in new if o.prompt_tokens is not None]
    if not counted:
        return None
    now = offsets(new)
    past = offsets(baseline)
    moved, p = _against_offsets(past, now, seed, count) if now else _against_anchors(baseline, new, seed, count)
    if not now:
        return CountTest(None, None, None, False, moved, p, len(counted))
    return CountTest(_mode(now), min(now), max(now), len(set(now) - {0}) <= 1, moved, p, len(now))


def _mode(values: Sequence[int]) -> int:
    return Counter(values).most_common(1)[0][0]


def _against_offsets(past: Sequence[int], now: Sequence[int], seed: int, count: int) -> tuple[int | None, float | None]:
    if not past:
        return None, None
    scores = np.array([*past, *now], dtype=np.float64)
    new = np.arange(scores.size) >= len(past)
    pool = Pool(np.column_stack([scores, np.abs(scores - np.median(scores))]), new)
    test = standardise_pool(pool, count, np.random.default_rng(seed))
    p = p_value(float(np.abs(test.observed).max()), np.abs(test.relabelled).max(axis=1))
    return _mode(now) - _mode(past), p


def _against_anchors(
    baseline: Sequence[Observation], new: Sequence[Observation], seed: int, count: int
) -> tuple[int | None, float | None]:
    groups: dict[str, list[tuple[int, bool]]] = defaultdict(list)
    for observations, is_new in ((baseline, False), (new, True)):
        for o in observations:
            if o.anchor and o.prompt_tokens is not None:
                groups[o.item_key].append((o.prompt_tokens, is_new))
    paired = {key: rows for key, rows in groups.items() if len({is_new for _, is_new in rows}) == 2}
    if not paired:
        return None, None
    rng = np.random.default_rng(seed)
    tables = []
    steps: list[int] = []
    for key in sorted(paired):
        counts = np.array([value for value, _ in paired[key]], dtype=np.float64)
        flags = np.array([is_new for _, is_new in paired[key]])
        tables.append(_difference_table(counts, flags, rng))
        steps.append(_mode(counts[flags].astype(int).tolist()) - _mode(counts[~flags].astype(int).tolist()))
    test = standardise_anchors(tables, count, rng)
    return _mode(steps), p_value(float(abs(test.observed[0])), np.abs(test.relabelled[:, 0]))


def _difference_table(counts: FloatArray, flags: np.ndarray, rng: np.random.Generator) -> PromptTable:
    ways = splits(flags.size, np.flatnonzero(flags).tolist(), rng)
    mean_new = counts[ways.members].mean(axis=1)
    mean_old = (counts.sum() - counts[ways.members].sum(axis=1)) / (flags.size - ways.members.shape[1])
    return PromptTable((mean_new - mean_old)[:, np.newaxis])

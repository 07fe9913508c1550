"""Prompts that begin alike, so that their common beginning is computed before the rest of them."""

from __future__ import annotations

from collections.abc import Sequence

# A beginning run by itself costs one pass, which a few tokens saved do not repay.
SHORTEST_SHARED = 12


def shared_beginnings(prompts: Sequence[Sequence[int]]) -> list[Sequence[int]]:
    """The common beginning of each group of two prompts or more that have one worth a pass of its own."""
    found: list[Sequence[int]] = []
    group: list[Sequence[int]] = []
    shared = 0
    for prompt in sorted(prompts, key=list):
        common = common_length(group[-1], prompt) if group else 0
        narrowed = common if len(group) < 2 else min(common, shared)
        if narrowed >= SHORTEST_SHARED:
            group.append(prompt)
            shared = narrowed
            continue
        if len(group) > 1:
            found.append(group[0][:shared])
        group, shared = [prompt], 0
    if len(group) > 1:
        found.append(group[0][:shared])
    return found


def common_length(one: Sequence[int], other: Sequence[int]) -> int:
    """Of their common beginning, at least one token of each left out."""
    most = min(len(one), len(other)) - 1
    return next((at for at in range(most) if one[at] != other[at]), max(most, 0))

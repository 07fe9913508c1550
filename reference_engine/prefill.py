"""Runs known tokens through the decoder: many prompts at once, their common beginning only once, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from reference_engine.kv import KVCache
from reference_engine.model.decoder import Decoder, Rows

_ROWS_AT_ONCE = 1024
_CACHE_BYTES = 1 << 29
# A prefix run by itself costs one pass, which a few tokens saved do not repay.
_SHORTEST_SHARED = 12


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt's place in the caller's list, and its tokens."""

    place: int
    ids: Sequence[int]


class LastPrompt:
    """Keys and values of the last prompt that was generated from, so that the next one need not run a common beginning
    again. How a prompt was cut changes no more of a number than its last bits (see ops.cpu.ROW_MULTIPLE)."""

    def __init__(self) -> None:
        self._ids: Sequence[int] = ()
        self._profile = ""
        self._cache: KVCache | None = None

    def fill(self, cache: KVCache, ids: Sequence[int], profile: str) -> int:
        """Copies the common beginning into `cache`; its length, 0 where there is none worth it."""
        common = _common_length(self._ids, ids) if profile == self._profile else 0
        if self._cache is None or common < _SHORTEST_SHARED:
            return 0
        cache.fill_from(self._cache, common)
        return common

    def remember(self, cache: KVCache, ids: Sequence[int], profile: str) -> None:
        """`cache` may go on growing behind the prompt; what stands before is never written again."""
        self._ids, self._profile, self._cache = tuple(ids), profile, cache


def extend(
    decoder: Decoder, cache: KVCache, sequences: Sequence[Sequence[int]], start: int
) -> Iterator[tuple[Tensor, list[tuple[int, int]]]]:
    """Appends `sequences[slot]` at position `start` of each slot, in pieces of bounded size.

    Yields final hidden states [rows, hidden] with the (slot, position) of each row.
    """
    piece = max(1, _ROWS_AT_ONCE // len(sequences))
    longest = max(len(ids) for ids in sequences)
    for at in range(0, longest, piece):
        parts = [list(ids[at : at + piece]) for ids in sequences]
        rows = Rows.of(parts, [start + at] * len(parts))
        places = list(zip(rows.slots.tolist(), rows.positions.tolist(), strict=True))
        yield decoder.forward(rows, cache), places


def last_hidden(decoder: Decoder, prompts: Sequence[Sequence[int]]) -> Tensor:
    """The final hidden state after each prompt, [prompts, hidden]."""
    hidden = torch.empty(len(prompts), decoder.config.hidden_size)
    for family, shared in _families(prompts):
        prefix = KVCache(decoder.config, 1, shared)
        for _ in extend(decoder, prefix, [family[0].ids[:shared]], 0) if shared else ():
            pass
        for group in _groups(decoder, family):
            cache = KVCache(decoder.config, len(group), max(len(prompt.ids) for prompt in group))
            cache.fill_from(prefix, shared)
            for states, places in extend(decoder, cache, [prompt.ids[shared:] for prompt in group], shared):
                for state, (slot, position) in zip(states, places, strict=True):
                    if position == len(group[slot].ids) - 1:
                        hidden[group[slot].place] = state
    return hidden


def _families(prompts: Sequence[Sequence[int]]) -> list[tuple[list[Prompt], int]]:
    """Prompts that begin alike, with the length of their common beginning; those that stand alone come last, with 0.

    Every prompt keeps at least one token of its own.
    """
    families: list[tuple[list[Prompt], int]] = []
    for prompt in sorted(
        (Prompt(place, ids) for place, ids in enumerate(prompts)), key=lambda prompt: list(prompt.ids)
    ):
        if families:
            family, shared = families[-1]
            common = _common_length(family[-1].ids, prompt.ids)
            if len(family) > 1:
                common = min(common, shared)
            if common >= _SHORTEST_SHARED:
                family.append(prompt)
                families[-1] = family, common
                continue
        families.append(([prompt], 0))
    alone = [family[0] for family, shared in families if not shared]
    return [*(family for family in families if family[1]), *([(alone, 0)] if alone else [])]


def _common_length(one: Sequence[int], other: Sequence[int]) -> int:
    most = min(len(one), len(other)) - 1
    return next((at for at in range(most) if one[at] != other[at]), max(most, 0))


def _groups(decoder: Decoder, prompts: Sequence[Prompt]) -> Iterator[list[Prompt]]:
    """Prompts of similar length together, as many as fit the memory allowed for their caches."""
    waiting = sorted(prompts, key=lambda prompt: len(prompt.ids))
    while waiting:
        most = max(1, _CACHE_BYTES // KVCache.nbytes(decoder.config, len(waiting[-1].ids)))
        group, waiting = waiting[-most:], waiting[:-most]
        yield group

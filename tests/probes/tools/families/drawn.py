"""The instances that several tests look at, drawn once."""

from __future__ import annotations

from functools import cache

from probes.tools.families.suite import Instance, candidates, instances

SEED = bytes(range(32))


@cache
def drawn(epoch: int, seed: bytes = SEED) -> tuple[Instance, ...]:
    return instances(seed, epoch, pool=pool(seed))


@cache
def pool(seed: bytes = SEED) -> tuple[Instance, ...]:
    return candidates(seed)

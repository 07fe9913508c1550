"""The whole load probe: streams by a schedule, and at both of its ends the replays that show a cache."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil

from probes.load import caching, schedule
from probes.plan import Item, Plan, ProbeKind

# So that half of a provider's rate is asked for: few arrivals then come faster than our own pace lets them leave.
_PART_OF_RATE = 0.5


@dataclass(frozen=True, slots=True)
class Load:
    """`each` streams of every size, in prompt tokens, about; `per_second` of them on average."""

    per_second: float = 1.0
    each: int = 20
    sizes: Sequence[int] = (200, 2_000, 6_000)
    max_tokens: int = 64
    replays: int = 4

    def cut(self, part: float) -> Load:
        """With fewer streams of each size."""
        return replace(self, each=ceil(self.each * part))

    def within(self, rpm: int | None) -> Load:
        """At no more than the rate that the provider is to be asked at."""
        return self if rpm is None else replace(self, per_second=min(self.per_second, _PART_OF_RATE * rpm / 60.0))


def plan(seed: bytes, run_nonce: bytes, load: Load) -> Plan:
    """All of it is due at its time, the replays as well: one at a time they would be another load."""
    streams = schedule.plan(
        seed, run_nonce, per_second=load.per_second, sizes=load.sizes, each=load.each, max_tokens=load.max_tokens
    )
    replays = caching.plan(seed, run_nonce + b"replay", pairs=load.replays)
    first, again = ([item for item in replays.items if item.rep == rep] for rep in range(2))
    gap = 1.0 / load.per_second
    begin = len(first) * gap
    end = begin + (streams.items[-1].at or 0.0) + gap
    items = (
        *_due(first, 0.0, gap),
        *(replace(item, at=begin + (item.at or 0.0)) for item in streams.items),
        *_due(again, end, gap),
    )
    suite = hashlib.sha256(f"{streams.suite_sha256}\n{replays.suite_sha256}".encode()).hexdigest()
    return Plan(ProbeKind.LATENCY, items, suite, schedule.VERSION)


def _due(items: Sequence[Item], at: float, gap: float) -> list[Item]:
    return [replace(item, at=at + place * gap) for place, item in enumerate(items)]

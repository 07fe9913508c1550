"""The load probe: streams of several prompt sizes that leave by a schedule, whatever becomes of those before them.

A client that waits for each answer asks less while the provider is slow, and sees a stall once where users who keep
coming see it each (coordinated omission). So every item says when it is due, and its times count from then.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence

from probes.grammar import GRAMMAR_SHA256, GRAMMAR_VERSION, Draw, fill
from probes.load.times import LOAD
from probes.plan import Item, Plan, ProbeKind
from probes.vocabulary import FRAMES, LONG_ANSWERS, NONCES

VERSION = "1"
# By usual tokenizers of English text.
_TOKENS_PER_WORD = 1.35


def plan(
    seed: bytes,
    run_nonce: bytes,
    *,
    per_second: float,
    sizes: Sequence[int] = (200, 2_000, 8_000),
    each: int = 20,
    max_tokens: int = 64,
) -> Plan:
    """`each` single-use streams of every size (in tokens, about), in random order at random times: `per_second` of them
    on average. The first words of each prompt are its own, so that no cache of prefixes serves it."""
    draw = Draw(seed, "load", VERSION, run_nonce)
    left = [size for size in sizes for _ in range(each)]
    order = [left.pop(draw.below(len(left))) for _ in range(len(left))]
    items = tuple(
        _item(draw, size, at, max_tokens) for size, at in zip(order, poisson(draw, len(order), per_second), strict=True)
    )
    lines = [VERSION, GRAMMAR_VERSION, GRAMMAR_SHA256, str(max_tokens), *map(str, sizes)]
    suite = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    return Plan(ProbeKind.LATENCY, items, suite, VERSION)


def poisson(draw: Draw, count: int, per_second: float) -> Iterator[float]:
    """Arrivals of users who do not know of each other, in seconds: the first at 0."""
    at = 0.0
    for _ in range(count):
        yield at
        # 1 − u is never 0.
        at -= math.log(1 - draw.below(2**32) / 2**32) / per_second


def _item(draw: Draw, size: int, at: float, max_tokens: int) -> Item:
    text = _prompt(draw, size)
    request = {
        "messages": [{"role": "user", "content": text}],
        "max_tokens": max_tokens,
        "temperature": 0,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    return Item(f"{LOAD}/{size}/{hashlib.sha256(text.encode()).hexdigest()[:12]}", 0, request, at=at)


def _prompt(draw: Draw, size: int) -> str:
    """A nonce, text to read, and something to do that takes a long answer."""
    plain = [frame.text for frame in FRAMES if not frame.foreign]
    parts = [fill(draw.choice(NONCES), draw)]
    task = fill(draw.choice(LONG_ANSWERS).text, draw)
    words = len(task.split())
    while words * _TOKENS_PER_WORD < size:
        parts.append(fill(draw.choice(plain), draw))
        words += len(parts[-1].split())
    return " ".join([*parts, task])

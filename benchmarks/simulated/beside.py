"""Stored answers of made-up endpoints, compared as `monitor drift consensus` compares them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import numpy as np

from benchmarks.simulated.figure import Figure, share
from benchmarks.simulated.fleets import provided
from benchmarks.simulated.mixtures import ALPHA, BF16, FP8, INT8
from monitor.check.consensus import compared
from monitor.consensus import ConsensusDocument, ConsensusFinding
from monitor.drift.observation import Observation
from monitor.store.anchors import AskedEndpoint, AskedModel
from monitor.store.codec import encode

# What an endpoint that has a reference shares with the others in a check of 40 requests.
SHARED_PROMPTS = 10
AT = datetime(2026, 1, 1, tzinfo=UTC)


def beside(
    hosts: Sequence[str], shifts: Sequence[Sequence[float]], times: int, *, rounding: float = BF16, seed: int = 0
) -> list[ConsensusDocument]:
    """Endpoint by endpoint, whose it is and how far it is shifted; a host that is named twice has two."""
    rng = np.random.default_rng(seed)
    endpoints = tuple(AskedEndpoint(f"ep {place}", host, "m", f"run {place}", AT) for place, host in enumerate(hosts))
    asked = AskedModel("m", AT, AT, endpoints)
    found = []
    for _ in range(times):
        answers = provided(rng, shifts, rounding, prompts=SHARED_PROMPTS).values()
        found.append(compared(asked, {f"run {place}": _stored(one) for place, one in enumerate(answers)}))
    return found


def differing(found: ConsensusDocument) -> list[str]:
    return [each.endpoint_id for each in found.endpoints if each.finding is ConsensusFinding.DIFFERS]


def figures(times: int, seed: int) -> Iterator[Figure]:
    five = ["a", "b", "c", "d", "e"]
    for what, hosts in (("five endpoints", five), ("five, and a second one of two of them", [*five, "d", "e"])):
        still = beside(hosts, [[]] * len(hosts), times, seed=seed)
        what = f"{what}, {SHARED_PROMPTS} shared prompts: any is said to differ"
        yield share(what, [bool(differing(one)) for one in still], ALPHA, "α")
    fewer = max(20, times // 4)
    for name, shift, rounding in (("int8", INT8, 0.02), ("fp8", FP8, BF16)):
        one = beside(five, [[shift], [], [], [], []], fewer, rounding=rounding, seed=seed)
        what = f"{name} among four that round by {rounding:g} nat, {SHARED_PROMPTS} prompts: it alone differs ({fewer})"
        yield Figure(what, float(np.mean([differing(each) == ["ep 0"] for each in one])), "")


def _stored(answers: dict[str, list[dict[bytes, float]]]) -> list[bytes]:
    return [
        encode(
            Observation(
                item_key=prompt,
                rep=rep,
                anchor=True,
                tokens=tuple(answer),
                logprobs=np.array(list(answer.values())),
                sampled=None,
                reference_tokens=(),
                expected={},
                prompt_tokens=None,
                expected_prompt_tokens=None,
                response_id=None,
            )
        )
        for prompt, given in answers.items()
        for rep, answer in enumerate(given)
    ]

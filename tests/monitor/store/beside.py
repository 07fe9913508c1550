"""Made-up endpoints of one model, asked what the logprobs probe asks, with answers that differ as stacks do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

import numpy as np

from benchmarks.simulated.fleets import provided
from monitor.drift.observation import Observation
from monitor.store import EndpointRecord, RunResult, RunStatus, Store
from probes.logprobs import plan
from probes.plan import Attempt, Item, Outcome, ProbeKind, Sample
from tests.monitor.store.material import REFERENCE, identity, start

SEED, NONCE = b"s" * 32, b"n" * 16
# What int8 and fp8 weights move a token by, and what lawful stacks that round nearly alike differ by; in nats.
INT8, FP8, ROUNDING = 0.071, 0.154, 0.02
ONE_OF_FIVE = ((), (), (FP8,), (), ())
Answers = Mapping[str, Sequence[Mapping[bytes, float]]]


def items(*, reference: bool = False, n: int = 40, nonce: bytes = NONCE) -> tuple[Item, ...]:
    return plan(SEED, nonce, n=n, has_reference=reference).items


def world(shifts: Sequence[Sequence[float]], seed: int = 0, rounding: float = ROUNDING) -> list[Answers]:
    """Each endpoint's answers to twenty prompts, in the order in which `shifts` names them."""
    return list(provided(np.random.default_rng(seed), shifts, rounding).values())


def observed(answers: Answers, asked: Sequence[Item]) -> list[Observation]:
    """Anchors are answered from `answers`, in order; what is asked once is answered by something that is no distance
    to anybody's."""
    keys = list(dict.fromkeys(item.key for item in asked if item.anchor))
    given = dict(zip(keys, answers.values(), strict=False))
    rng = np.random.default_rng(len(keys))
    return [
        observation(item, given[item.key][item.rep])
        if item.anchor
        else observation(item, {bytes([token]): float(rng.uniform(-9.0, 0.0)) for token in range(20)})
        for item in asked
    ]


def observation(item: Item, answer: Mapping[bytes, float]) -> Observation:
    return Observation(
        item_key=item.key,
        rep=item.rep,
        anchor=item.anchor,
        tokens=tuple(answer),
        logprobs=np.array(list(answer.values()), dtype=np.float64),
        sampled=None,
        reference_tokens=(),
        expected={},
        prompt_tokens=12,
        expected_prompt_tokens=None,
        response_id=None,
    )


def answered(
    store: Store,
    endpoint: EndpointRecord,
    answers: Answers,
    at: datetime,
    *,
    reference: bool = False,
    status: RunStatus = RunStatus.SUCCEEDED,
    probe: ProbeKind = ProbeKind.LOGPROBS,
    asked: Sequence[Item] | None = None,
) -> str:
    """A run of the endpoint, with the prompts it was asked; its id."""
    wanted = items(reference=reference) if asked is None else asked
    run_id = store.begin_run(start(endpoint.id, probe, reference=REFERENCE if reference else None), at=at)
    store.add_samples(run_id, [_sample(item, at) for item in wanted], at=at)
    result = RunResult(status, observations=observed(answers, wanted))
    store.finish_run(run_id, result, at=at + timedelta(seconds=30))
    return run_id


def hosted(store: Store, number: int, at: datetime, *, model: str = "smol", name: str = "smol") -> EndpointRecord:
    return store.ensure_endpoint(identity(f"host-{number}", model, served_name=name), at=at)


def fleet(
    store: Store,
    shifts: Sequence[Sequence[float]],
    at: datetime,
    *,
    model: str = "smol",
    references: Sequence[int] = (),
) -> list[EndpointRecord]:
    """An endpoint at each of host-0, host-1 …, all asked at `at`; those of `references` have a reference: half of their
    prompts are asked once."""
    endpoints = [hosted(store, number, at, model=model) for number, _ in enumerate(shifts)]
    for number, (endpoint, answers) in enumerate(zip(endpoints, world(shifts), strict=True)):
        answered(store, endpoint, answers, at, reference=number in references)
    return endpoints


def private_texts() -> list[str]:
    """The prompts, what they are called by, and what was answered."""
    asked = [*items(), *items(reference=True)]
    return [*(message["content"] for item in asked for message in item.request["messages"]), *(i.key for i in asked)]


def _sample(item: Item, at: datetime) -> Sample:
    attempt = Attempt(200, {}, b'{"id":"cmpl-1"}', at, 0.25, None)
    return Sample(item, Outcome.OK, None, (attempt,), dict(item.request))

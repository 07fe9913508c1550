"""Looks at an endpoint through many answers, and says which watch each change in them sets off."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache

import numpy as np

from monitor.drift.stages import Stage, confirm, screen
from monitor.drift.trigger import Paired, TriggerTest, trigger_test
from probes import grammar
from probes.parameters import probe as parameters
from probes.parameters.experiments import TWINNED
from probes.parameters.judgement import Effect
from probes.plan import Plan, Sample
from probes.profile.extract import profiles_of
from probes.profile.variants import variant_counts
from probes.quirks import Quirk
from probes.token_counts import ladder
from probes.token_counts.explain import Explanation, explanations
from probes.token_counts.renderings import prompt_counts
from tests.endpoints.agent import Agent
from tests.endpoints.answers import Refusal
from tests.endpoints.clock import TickingClock
from tests.endpoints.server import Handler, ScriptedServer
from tests.endpoints.shifts import Chancy
from tests.mutation.scenes import LIST
from tests.probes.sending import send, target
from tests.probes.token_counts.templated import WITHOUT_DEFAULT, Templated

SEED, NONCE = bytes(range(32)), b"one run's nonce."
REFERENCE = Templated(WITHOUT_DEFAULT)
PROMPTS, REPEATS = 200, 8


class Watch(StrEnum):
    RATE = "the rate of calls"
    PROMPTS = "the prompts that call"
    COUNTS = "the counts of prompt tokens"
    VARIANTS = "the stacks that answer"
    NAME = "the model's name"
    TEMPERATURE = "temperature"
    TOP_P = "top_p"
    TOP_K = "top_k"
    SEED = "seed"


@dataclass(frozen=True)
class Survey:
    """`counted` says what explains the prompt counts."""

    red: frozenset[Watch]
    counted: tuple[Explanation, ...]
    samples: Sequence[Sample]


def tokens_in(request: object) -> int:
    assert isinstance(request, dict)
    return len(REFERENCE.render(request["messages"], request.get("tools")).ids)


def survey(endpoint: Handler, of_calls: Agent) -> Survey:
    """`of_calls` is the agent whose calls are counted, without a network between: thousands of answers are."""
    with ScriptedServer(endpoint) as server:
        asked = target(server.base_url, max_concurrency=1)

        def sent(plan: Plan) -> list[Sample]:
            return send(asked, plan, clock=TickingClock()).samples

        laddered = sent(ladder.plan(SEED))
        twinned = sent(parameters.plan(SEED, NONCE, only=TWINNED))
    counted = explanations(prompt_counts(laddered, REFERENCE))
    samples = [*laddered, *twinned]
    seen = {
        Watch.COUNTS: counted != (Explanation("exact"),),
        Watch.VARIANTS: len(variant_counts(profile for _, profile in profiles_of(samples))) > 1,
        Watch.NAME: any(
            Quirk.MODEL_ALIAS_RESOLVED in sample.completion.quirks for sample in samples if sample.completion
        ),
    }
    ignored = {Watch(one.parameter) for one in parameters.judge(twinned) if one.effect is Effect.IGNORED}
    red = {watch for watch, turned in seen.items() if turned} | ignored | triggers(of_calls)
    return Survey(frozenset(red), counted, samples)


def triggers(agent: Agent) -> set[Watch]:
    """What is found by a screen, and found again in fresh answers: draws of their own, whatever else was asked, as both
    find a logit −.5 about one time in two (PROBES.md §5.5)."""
    agent = replace(agent, rng=random.Random(5))
    screened = _compared(agent, 0)
    suspects = {watch for watch, p in _ps(screened).items() if screen(p) is Stage.HIT}
    fresh = _ps(_compared(agent, 1)) if suspects else {}
    return {watch for watch in suspects if confirm(fresh[watch]) is Stage.CONFIRMED}


def _ps(test: TriggerTest) -> dict[Watch, float]:
    """Bonferroni's over the two."""
    return {Watch.RATE: min(1.0, 2 * test.rate_p), Watch.PROMPTS: min(1.0, 2 * test.prompt_p)}


def _compared(agent: Agent, stage: int) -> TriggerTest:
    found = trigger_test(Paired.of(_calls(agent), REPEATS, _of_the_reference(stage), REPEATS))
    assert found is not None
    return found


@cache
def _of_the_reference(stage: int) -> np.ndarray:
    return _calls(Agent(Chancy(), rng=random.Random(1000 + stage)))


def _calls(agent: Agent) -> np.ndarray:
    return np.array([sum(_called(agent, prompt) for _ in range(REPEATS)) for prompt in _prompts()])


def _called(agent: Agent, prompt: str) -> bool:
    said = agent.said({"model": "m", "messages": [{"role": "user", "content": prompt}], "tools": [LIST]})
    assert not isinstance(said, Refusal)
    return bool(said.answers[0].calls)


@cache
def _prompts() -> tuple[str, ...]:
    return tuple(prompt.messages[-1]["content"] for prompt in grammar.single_use(SEED, NONCE, PROMPTS))

"""What shows only in many answers sets off exactly the named watches, and an unchanged endpoint none."""

from __future__ import annotations

from collections import Counter
from functools import partial

import numpy as np
import pytest

from monitor.check.profiles import variants_of
from monitor.drift.stages import Stage, confirm, screen
from monitor.drift.trigger import Paired, trigger_test
from probes.token_counts.explain import Explanation
from tests.endpoints.agent import Agent
from tests.endpoints.edits import each, usage
from tests.endpoints.shifts import BETA, Chancy, Mixed, deaf, never, prompted, shifted
from tests.mutation.survey import Watch, survey, tokens_in

pytestmark = pytest.mark.mutation

agent = partial(Agent, count=tokens_in)
ANOTHER_STACK = each(lambda value: value.update(system_fingerprint="fp_quantized"))
ONE_MORE = usage(
    lambda value: value.update(prompt_tokens=value["prompt_tokens"] + 1, total_tokens=value["total_tokens"] + 1)
)
RENAMED = each(lambda value: value.update(model="lark-30b-fp8"))
SHIFTS = {
    "nothing": (agent(Chancy()), set[Watch]()),
    "10 % of prompts never call": (agent(Chancy(never(0.1))), {Watch.PROMPTS}),
    "trigger logit −.5": (agent(Chancy(shifted(-0.5))), {Watch.RATE}),
    "prompt_tokens + 1": (agent(Chancy(), ONE_MORE), {Watch.COUNTS}),
    "a hidden system prompt": (agent(Chancy(), prompted("Be brief.")), {Watch.COUNTS}),
    "model alias changed": (agent(Chancy(), RENAMED), {Watch.NAME}),
    "sampling parameters ignored": (
        agent(Chancy(), deaf("temperature", "top_p", "top_k", "seed")),
        {Watch.TEMPERATURE, Watch.TOP_P, Watch.TOP_K, Watch.SEED},
    ),
    "seed ignored": (agent(Chancy(), deaf("seed")), {Watch.SEED}),
}


@pytest.mark.parametrize(("endpoint", "red"), SHIFTS.values(), ids=SHIFTS)
def test_a_shift_sets_off_exactly_its_watches(endpoint: Agent, red: set[Watch]) -> None:
    assert survey(endpoint, endpoint).red == red


def test_a_twentieth_of_the_traffic_at_another_stack_is_another_variant() -> None:
    most = agent(Chancy())
    found = survey(Mixed(most, agent(Chancy(), ANOTHER_STACK), 0.05), most)

    assert found.red == {Watch.VARIANTS}
    common, rare = Counter(variants_of(found.samples).values()).most_common()
    assert 0.01 < rare[1] / (common[1] + rare[1]) < 0.15


def test_a_hidden_prompt_is_measured() -> None:
    found = survey(hidden := agent(Chancy(), prompted("Be brief.")), hidden)
    asked = [{"role": "user", "content": "Good morning."}]
    told = [{"role": "system", "content": "Be brief."}, *asked]
    length = tokens_in({"messages": told}) - tokens_in({"messages": asked})
    assert found.counted == (Explanation("hidden system prompt", length),)


def test_windows_of_an_unchanged_endpoint_stay_silent() -> None:
    """1,000 of them: at most 31 screens at .02, which more would be by chance once in 100 times, and one confirmed."""
    rng = np.random.default_rng(7)
    hits = confirmed = 0
    for _ in range(1_000):
        chances = rng.beta(*BETA, 120)
        if screen(_window(chances, rng)) is Stage.HIT:
            hits += 1
            confirmed += confirm(_window(chances, rng)) is Stage.CONFIRMED

    assert hits <= 31
    assert confirmed <= 1


def _window(chances: np.ndarray, rng: np.random.Generator) -> float:
    """The p of one window: 120 prompts, eight answers a side."""
    test = trigger_test(Paired.of(rng.binomial(8, chances), 8, rng.binomial(8, chances), 8))
    assert test is not None
    return test.p

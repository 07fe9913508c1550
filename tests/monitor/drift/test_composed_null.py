"""A whole check of an endpoint that did not change: all its probes together raise no more false alarms than one may."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np
import pytest

from monitor.drift.accounting import count_test
from monitor.drift.accumulated import Accumulated
from monitor.drift.assess import assess
from monitor.drift.findings import Finding
from monitor.drift.latency_past import DAYS, Timed, latency_finding, moved
from monitor.drift.loop_assess import LoopSide, assess_loops
from monitor.drift.multiplicity import MOST_SHARES
from monitor.drift.protocol import EffectSeen, ProtocolFacts, assess_protocol
from monitor.drift.rule import Verdict, roll_up
from monitor.drift.shift import shift_test
from monitor.drift.tool_assess import assess_tools
from probes.parameters.judgement import Effect
from probes.tools.case import Category
from probes.tools.scored import Scored
from tests.monitor.drift.graded_loops import FAILED, PASSED, loop
from tests.monitor.drift.scored_answers import scored
from tests.monitor.drift.synthetic import World, material

_CHANCES = np.random.default_rng(0).beta(0.434, 0.453, 60)
_FEATURES = ("id", "created", "finish", "usage_place", "object")


def tool_calls(rng: np.random.Generator) -> list[Scored]:
    """Eight answers to each of 60 cases that leave the call to chance."""
    calls = rng.random((60, 8)) < _CHANCES[:, np.newaxis]
    return [
        scored(f"{case:064}", category=Category.T3, rep=rep, called=bool(calls[case, rep]))
        for case in range(60)
        for rep in range(8)
    ]


def loops(rng: np.random.Generator) -> LoopSide:
    """A hundred turns and 24 free loops of which a third go wrong."""
    turns = [scored(f"t{case}", right=bool(rng.random() < 0.7)) for case in range(100)]
    ended = [[PASSED if rng.random() < 0.7 else FAILED for _ in range(2)] for _ in range(12)]
    return LoopSide(turns, [loop(f"e{one}", rep, result=ended[one][rep]) for one in range(12) for rep in range(2)])


def protocol(rng: np.random.Generator) -> ProtocolFacts:
    """Forty answers of a fleet of two stacks, which differ in all that is seen of them by itself."""
    counts = {name: int(rng.binomial(40, 0.4)) for name in _FEATURES}
    features = {name: {"one": count, "other": 40 - count} for name, count in counts.items()}
    return ProtocolFacts({"stop": EffectSeen(Effect.ACTS, 1e-6)}, {"chat, plain": features}, {"a": 40}, {"step": 20})


def hours(rng: np.random.Generator) -> list[Timed]:
    return [Timed(ago / 4, 6 * (ago % 4), "1k", float(rng.lognormal(0.0, 0.3))) for ago in range(4 * (DAYS + 28))]


def findings(seed: int, shares: int) -> Iterator[Finding]:
    """All that a check of every probe says of an endpoint that is what it was, and what its reference is."""
    rng, world = np.random.default_rng(seed), World(seed)
    tokens = assess(material(world.run("bf16"), world.run("bf16")), no_baseline_reason="", shares=shares)
    yield from (tokens.logprobs, tokens.accounting)
    now, past, reference = (tool_calls(rng) for _ in range(3))
    tools = assess_tools(now, past=past, reference=reference, no_past="", no_reference="", shares=shares)
    yield from (*tools.drift.values(), *tools.fidelity.values())
    yield Accumulated.start("run", past).with_run(tool_calls(rng)).with_run(now).found
    ours, before, theirs = (loops(rng) for _ in range(3))
    work = assess_loops(ours, past=before, reference=theirs, no_past="", no_reference="", shares=shares)
    yield from (*work.drift.values(), work.fidelity)
    yield from assess_protocol(protocol(rng), [protocol(rng)], no_past="", shares=shares).findings
    speed = latency_finding({name: moved(hours(rng)) for name in ("ttft", "tpot")}, shares)
    assert speed is not None
    yield speed


def smallest(seed: int, shares: int) -> float:
    return min(one.adjusted_p for one in findings(seed, shares) if one.adjusted_p is not None)


def test_the_smallest_p_of_a_whole_check_is_below_a_level_as_seldom_as_the_level_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("monitor.drift.assess.shift_test", partial(shift_test, count=500))
    monkeypatch.setattr("monitor.drift.assess.count_test", partial(count_test, count=10))
    monkeypatch.setattr("monitor.drift.assess.detectable_shift", lambda *_, **__: 0.0)
    p = np.array([smallest(seed, MOST_SHARES) for seed in range(50)])

    # 5 are expected at most, and 11 are one chance in a hundred; where each probe pays for itself alone, 10 are usual.
    assert np.count_nonzero(p <= 0.1) <= 10


@pytest.mark.soak
def test_of_many_whole_checks_one_in_a_hundred_is_suspected_and_hardly_any_called_changed() -> None:
    said: Mapping[Verdict, int] = Counter(
        roll_up(one.verdict for one in findings(seed, MOST_SHARES)) for seed in range(400)
    )

    assert said[Verdict.SUSPECT] + said[Verdict.DRIFT] <= 4 + 3 * np.sqrt(4)
    assert said[Verdict.DRIFT] <= 1

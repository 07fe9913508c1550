from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from pydantic import TypeAdapter

from monitor.drift.candidates import LikelihoodRatio
from monitor.drift.cause import Cause
from monitor.drift.evidence import Combining, Evidence, ExactP, Factors, Inapplicable, Null, Scores, StreamKey, Tier
from monitor.drift.levels import DAY
from monitor.drift.score_stream import Round, StreamRule
from monitor.drift.sequential import AverageProcess, PValueProcess, Wealth
from monitor.drift.streams import Closing, Epoch, StreamState, fold
from tests.monitor.drift.rounds import days_of

KEY = StreamKey("e1", Tier.LOGPROBS, "anchors-1")
FIRST = Epoch(0, 20_000 * DAY, "stack-1")
NEW = StreamState(KEY, StreamRule(seed=7), FIRST)


def scored(rounds: list[Round]) -> list[Evidence]:
    return [Evidence(KEY, one.at, Scores((one.score,))) for one in rounds]


def lasting(says: Factors | ExactP) -> StreamState:
    return fold(NEW, [Evidence(KEY, place, says) for place in range(30)])


def adapter_of_states() -> TypeAdapter[StreamState]:
    """Some of its types are imported where they are used alone: numpy is more than most processes need."""
    adapter = TypeAdapter(StreamState)
    adapter.rebuild(_types_namespace={"LikelihoodRatio": LikelihoodRatio, "Cause": Cause})
    return adapter


@pytest.mark.parametrize("days", [3, 16])
def test_a_state_is_stored_and_computed_anew_bit_for_bit(days: int) -> None:
    evidence = scored(days_of(np.random.default_rng(0), days))
    state = fold(NEW, evidence)
    adapter = adapter_of_states()
    stored = adapter.dump_json(fold(NEW, evidence[: days * 12]))
    assert len(adapter.dump_json(state)) < 20_000
    restored = adapter.validate_json(stored)
    assert restored == fold(NEW, evidence[: days * 12])
    assert adapter.dump_json(fold(restored, evidence[days * 12 :])) == adapter.dump_json(state)


@pytest.mark.parametrize(
    ("says", "process"),
    [
        (Factors((1.0, 2.0), Null.REFERENCE, Combining.MULTIPLY), Wealth),
        (Factors((0.1, 2.0), Null.STATED, Combining.EACH), Wealth),
        (Factors((1.0, 2.0), Null.EXCHANGEABLE, Combining.AVERAGE), AverageProcess),
        (ExactP(0.01, Null.REFERENCE, Combining.MULTIPLY), PValueProcess),
        (ExactP(0.01, Null.EXCHANGEABLE, Combining.AVERAGE), AverageProcess),
    ],
)
def test_evidence_adds_up_as_it_may(says: Factors | ExactP, process: type) -> None:
    state = lasting(says)
    assert isinstance(state.process, process)
    stored = adapter_of_states().dump_json(state)
    assert adapter_of_states().validate_json(stored) == state
    # Thirty rounds in favour prove drift only where they do not share their baseline.
    assert (state.value >= 1_000) == (says.combining is not Combining.AVERAGE)


def test_alternatives_are_averaged_after_their_rounds_are_multiplied() -> None:
    """Either one alone explains half of the rounds; the mean of each round's would have grown."""
    rounds = [Factors(factors, Null.STATED, Combining.EACH) for factors in ((3.0, 0.2), (0.2, 3.0)) * 10]
    state = fold(NEW, [Evidence(KEY, place, says) for place, says in enumerate(rounds)])
    assert state.value < 1.01
    with pytest.raises(ValueError, match="Factors"):
        state.after(Evidence(KEY, 99.0, Factors((1.0, 1.0, 1.0), Null.STATED, Combining.EACH)))


def test_a_stream_takes_one_kind_of_evidence_of_its_own() -> None:
    with pytest.raises(ValueError, match="AverageProcess was given Scores"):
        lasting(ExactP(0.5, Null.EXCHANGEABLE, Combining.AVERAGE)).after(Evidence(KEY, 99.0, Scores((0.5,))))
    with pytest.raises(ValueError, match="was given to"):
        NEW.after(Evidence(replace_endpoint(KEY), 0.0, Scores((0.5,))))


def replace_endpoint(key: StreamKey) -> StreamKey:
    return key._replace(endpoint="e2")


def test_what_cannot_be_said_stands_until_something_is() -> None:
    state = NEW.after(Evidence(KEY, 0.0, Inapplicable("no log-probabilities")))
    assert state.why_not == "no log-probabilities"
    assert state.value == 1.0
    assert state.after(Evidence(KEY, 1.0, Scores((0.1,)))).why_not is None


def test_a_stream_that_is_too_noisy_says_so() -> None:
    noisy = replace(NEW, rule=StreamRule(target=0.1))
    state = fold(noisy, scored(days_of(np.random.default_rng(1), 15)))
    assert state.why_not is not None
    assert state.why_not.startswith("noise")


def test_epochs_end_by_time_and_by_our_own_stack() -> None:
    rule = StreamRule(epoch_days=30)
    assert FIRST.ended(20_029 * DAY, "stack-1", rule) is None
    assert FIRST.ended(20_030 * DAY, "stack-1", rule) is Closing.EXPIRED
    assert FIRST.ended(20_001 * DAY, "stack-2", rule) is Closing.OUR_STACK
    assert FIRST.next(1.0, "stack-2") == Epoch(1, 1.0, "stack-2")


def test_evidence_starts_anew_with_an_epoch() -> None:
    rng = np.random.default_rng(2)
    baseline = days_of(rng, 14)
    drifted = fold(NEW, scored(baseline + days_of(rng, 2, first=20_014, moved=1.0)))
    assert drifted.value >= 1_000
    assert drifted.renewed(FIRST.next(20_016 * DAY, "stack-1")).value == 1.0
    upgraded = drifted.rebased(FIRST.next(20_016 * DAY, "stack-2"), [Round(r.at, r.score / 2) for r in baseline])
    assert upgraded.value == 1.0
    assert upgraded.calibrated
    assert lasting(ExactP(0.01, Null.REFERENCE, Combining.MULTIPLY)).renewed(FIRST).value == 1.0
    assert lasting(ExactP(0.01, Null.REFERENCE, Combining.MULTIPLY)).rebased(FIRST, ()).value == 1.0

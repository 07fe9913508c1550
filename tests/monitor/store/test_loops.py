"""What agent loops came to, as bytes and as rows."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.errors import StorageError
from monitor.store import Enrol, RunResult, RunStatus, Store
from monitor.store.loops import decode_loop, encode_loop
from probes.loops.graded import GradedLoop
from probes.loops.loop import Arm
from probes.loops.result import LoopResult, Stop
from probes.plan import ProbeKind
from probes.quirks import Quirk
from probes.tools.scored import Exclusion
from tests.monitor.drift.graded_loops import FAILED, loop
from tests.monitor.drift.scored_answers import scored
from tests.monitor.store.material import AT, finished_run, identity

RESULTS = st.builds(
    LoopResult,
    stop=st.sampled_from(Stop),
    goal_state_ok=st.booleans(),
    answer_ok=st.booleans(),
    steps=st.integers(0, 40),
    oracle_steps=st.integers(1, 17),
    invalid_calls=st.integers(0, 9),
    errors=st.integers(0, 9),
    recovered_errors=st.integers(0, 9),
    defects=st.lists(st.sampled_from(Quirk).map(str), max_size=3).map(tuple),
    struck=st.none() | st.booleans(),
    obeyed=st.none() | st.booleans(),
    excluded=st.none() | st.sampled_from(Exclusion),
)


@settings(max_examples=50)
@given(
    one=st.builds(
        GradedLoop, st.just("loop-0f"), st.just("0f"), st.sampled_from(Arm), st.booleans(), st.integers(0, 3), RESULTS
    )
)
def test_a_loop_comes_back(one: GradedLoop) -> None:
    assert decode_loop(encode_loop(one)) == one


@pytest.mark.parametrize("blob", [b"", b"GRA\x01{}", b"LOO\x02{}", b"LOO\x01", b"LOO\x01{}", b"LOO\x01[1]"])
def test_anything_else_is_damaged(blob: bytes) -> None:
    with pytest.raises(StorageError, match="stored agent loop"):
        decode_loop(blob)


def test_a_baseline_has_its_turns_and_its_loops_and_the_references_apart(tmp_path: Path) -> None:
    ours, theirs = [loop("0f", rep) for rep in range(2)], [loop("0f", result=FAILED)]
    turns = [scored("7a", right=True)]
    kept = RunResult(
        RunStatus.SUCCEEDED,
        scored=turns,
        reference_scored=[scored("7a", right=False)],
        loops=ours,
        reference_loops=theirs,
        baseline=Enrol(),
    )
    with Store.open(tmp_path / "monitor.db", at=AT) as store:
        endpoint = store.ensure_endpoint(identity(), at=AT)
        run_id = finished_run(store, endpoint.id, probe=ProbeKind.AGENT_LOOPS, outcome=kept)
        baseline = store.active_baseline(endpoint.id, ProbeKind.AGENT_LOOPS)

        assert baseline is not None
        assert [member.run_id for member in baseline.runs] == [run_id]
        assert store.baseline_loops(baseline.id) == ours
        assert store.baseline_scored(baseline.id) == turns
        assert list(store.scored(run_id).values()) == turns

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier

import pytest
from sqlalchemy import func, select

from monitor.drift.accumulated import Accumulated
from monitor.errors import StorageError
from monitor.store import EndpointRecord, RunResult, RunStatus, Store
from monitor.store.accumulated import decode_accumulated, encode_accumulated
from monitor.store.tables import Observation
from probes.plan import ProbeKind
from probes.tools.case import Category
from tests.monitor.drift.scored_answers import called
from tests.monitor.store.material import finished_run, later, start

RUN = [one for case in range(9) for one in called(str(case) * 64, times=case % 3, of=5, category=Category.T3)]
STATE = Accumulated.start("run_1", RUN).with_run(RUN).with_run(RUN)


def test_it_comes_back_as_it_was() -> None:
    assert STATE.found.interval is not None
    assert decode_accumulated(encode_accumulated(STATE)) == STATE


@pytest.mark.parametrize("blob", [b"", b"SCO\x01{}", encode_accumulated(STATE)[:-3], encode_accumulated(STATE)[:4]])
def test_what_is_damaged_is_no_state(blob: bytes) -> None:
    with pytest.raises(StorageError):
        decode_accumulated(blob)


def test_the_last_run_that_left_one_is_gone_on_with(store: Store, endpoint: EndpointRecord) -> None:
    assert store.last_accumulated(endpoint.id) is None
    tools = ProbeKind.TOOL_CALLS
    run_id = finished_run(store, endpoint.id, probe=tools, outcome=RunResult(RunStatus.SUCCEEDED, accumulated=STATE))
    finished_run(store, endpoint.id, later(1), probe=tools, outcome=RunResult(RunStatus.FAILED))

    assert store.last_accumulated(endpoint.id) == STATE
    # It is no scored answer of the run.
    assert store.scored(run_id) == {}


def test_only_the_last_one_is_kept(store: Store, endpoint: EndpointRecord) -> None:
    for minutes in range(3):
        outcome = RunResult(RunStatus.SUCCEEDED, accumulated=replace(STATE, runs=minutes))
        finished_run(store, endpoint.id, later(minutes), probe=ProbeKind.TOOL_CALLS, outcome=outcome)

    with store.sessions.read() as session:
        assert session.scalars(select(func.count()).select_from(Observation)).one() == 1
    assert store.last_accumulated(endpoint.id) == replace(STATE, runs=2)


def test_runs_that_are_judged_at_once_are_all_added(store: Store, endpoint: EndpointRecord) -> None:
    tools, together = ProbeKind.TOOL_CALLS, Barrier(4, timeout=60)
    finished_run(store, endpoint.id, probe=tools, outcome=RunResult(RunStatus.SUCCEEDED, accumulated=STATE))
    begun = [store.begin_run(start(endpoint.id, tools), at=later(number)) for number in range(1, 5)]

    def judge(run_id: str) -> None:
        before = store.last_accumulated(endpoint.id)
        assert before is not None
        together.wait()
        outcome = RunResult(RunStatus.SUCCEEDED, accumulated=before.with_run(RUN), scored=RUN)
        store.finish_run(run_id, outcome, at=later(9))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(judge, begun))

    one_by_one = STATE
    for _ in begun:
        one_by_one = one_by_one.with_run(RUN)
    assert store.last_accumulated(endpoint.id) == one_by_one
    with store.sessions.read() as session:
        kept = select(func.count()).select_from(Observation).where(Observation.item_key == "accumulated")
        assert session.scalars(kept).one() == 1

"""Agent loops in a check: an endpoint that does its work, one that stumbles over its own history, and limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from sqlalchemy import select

from monitor import clock
from monitor.check.budget import Budget
from monitor.check.options import CheckOptions, Silent
from monitor.check.recall import said_of
from monitor.check.reference import OpenReference
from monitor.check.run import check_against, run_check
from monitor.check.tool_calls import week_of
from monitor.config import EndpointConfig, load_config
from monitor.datadir import DataDir
from monitor.drift.rule import Verdict
from monitor.render.markdown import markdown
from monitor.store import RunStatus, Store
from monitor.store.tables import Run, Sample
from monitor.verdict import VerdictDocument
from probes.loops.selection import exercises
from probes.plan import ProbeKind
from tests.endpoints.server import ScriptedServer
from tests.endpoints.tool_caller import Request, Said, ToolCaller
from tests.probes.loops.agents import diligent, wandering
from tests.reference_engine.server.tiny_backend import TinyBackend

# So much of it as has every exercise once in each arm.
LIGHT = CheckOptions(probes=(ProbeKind.AGENT_LOOPS,), budget=Budget(requests=160))
WHOLE = replace(LIGHT, whole_suite=True, budget=Budget(requests=320))
# It says but one thing.
REFERENCE = OpenReference(TinyBackend(b"hello", context_length=10**6), None, ("fp32",), None)


def endpoint_of(server: ScriptedServer, folder: Path) -> EndpointConfig:
    file = folder / "providers.yaml"
    served = {"model": "lark", "name": "acme/lark-30b"}
    provider = {"slug": "x", "base_url": server.base_url, "allow_private": True, "models": [served]}
    file.write_text(yaml.safe_dump({"version": 1, "models": {"lark": {}}, "providers": [provider]}))
    (endpoint,) = load_config(file).endpoints("x")
    return endpoint


def loud(document: VerdictDocument) -> dict[str, Verdict]:
    quiet = (Verdict.OK, Verdict.INCONCLUSIVE, Verdict.INAPPLICABLE)
    return {check.probe: check.verdict for check in document.checks if check.verdict not in quiet}


def rate(document: VerdictDocument, name: str) -> float | None:
    return next(one.value for one in document.rates if one.name == name)


def refuses_its_own_ids(messages: Sequence[Mapping[str, Any]]) -> str | None:
    """As a stack does whose validation knows another form of ids than its parser makes."""
    told = [str(message["tool_call_id"]) for message in messages if message["role"] == "tool"]
    return None if all(one.isalnum() for one in told) else "Tool call id must match ^[a-zA-Z0-9]{9}$"


def test_a_fault_that_only_loops_show_is_drift_of_the_loops_alone(tmp_path: Path) -> None:
    data, agent = DataDir(tmp_path / "data"), ToolCaller(diligent)
    with ScriptedServer(agent) as server:
        endpoint = endpoint_of(server, tmp_path)
        first, second = (run_check(endpoint, LIGHT, data, Silent()) for _ in range(2))
        agent.refuses = refuses_its_own_ids
        broken = run_check(endpoint, WHOLE, data, Silent())

    assert (first.enrolled, loud(first), loud(second), second.partial) == (True, {}, {}, False)
    named = ("loop_turn_right", "loop_pass", "loop_errors_recovered", "loop_steps_ratio")
    assert [rate(first, name) for name in named] == [1.0] * 4
    assert [(one.passed, one.trials, one.ended) for one in first.loops] == [(1, 1, {"answered": 1})] * 12

    assert loud(broken) == {"agent_loops.loop": Verdict.DRIFT}
    assert [rate(broken, name) for name in ("loop_turn_right", "loop_pass.own-ids", "loop_pass.canonical-ids")] == [
        1.0,
        0.0,
        1.0,
    ]
    assert (rate(broken, "loop_pass_hat_2"), rate(broken, "loop_pass_hat_4")) == (0.0, None)
    assert [list(one.defects) for one in broken.loops] == [["HISTORY_REFUSED"]] * 12
    told = "| stores 4 rounds swapped | 1/2 | ended: answered 1, defect 1; defects: HISTORY_REFUSED 1 |"
    assert told in markdown(broken).replace("\\", "")
    (fidelity,) = (check for check in broken.checks if check.probe == "fidelity.loop")
    assert (fidelity.verdict, fidelity.reason) == (Verdict.INAPPLICABLE, "no reference that answers")
    _is_kept_without_a_word(data, broken)


def _is_kept_without_a_word(data: DataDir, document: VerdictDocument) -> None:
    asked = exercises(data.seed(), week_of(clock.now()))
    words = {word for one in asked for tool in one.task.tools for word in (tool.name, *one.task.answer)}
    with Store.open(data.database, at=clock.now()) as store:
        (run_id,) = document.run_ids
        (endpoint,) = store.endpoints()
        baseline = store.active_baseline(endpoint.id, ProbeKind.AGENT_LOOPS)
        assert baseline is not None
        kept = str([store.scored(run_id), store.baseline_loops(baseline.id), store.evidence(run_id)])
        assert len(store.baseline_loops(baseline.id)) == 24
        assert said_of(store.evidence(run_id)).loops == document.loops
    assert [word for word in words if word in kept] == []


class Counting(Silent):
    """Counts what the reference answers."""

    answers = 0

    def step(self, what: str) -> None:
        self.answers += what == "reference: agent loops"


def test_an_endpoint_that_goes_astray_is_stopped_by_its_budget_and_judged_in_part(tmp_path: Path) -> None:
    options, data, progress = replace(LIGHT, budget=Budget(requests=100)), DataDir(tmp_path / "data"), Counting()
    with ScriptedServer(ToolCaller(wandering)) as server:
        document = check_against(REFERENCE, endpoint_of(server, tmp_path), options, data, progress)

    assert 90 < len(server.received) <= 100
    assert (document.partial, document.enrolled) == (True, False)
    ended = [one for one in document.loops if one.trials]
    assert {str(one.ended) for one in ended} == {"{'max_steps': 1}"}
    assert 0 < len(ended) < len(document.loops)
    turns = next(one.denominator for one in document.rates if one.name == "loop_turn_right")
    # Its loops end with their first answer.
    assert progress.answers == turns + len(ended)


def test_a_check_that_is_interrupted_keeps_what_came_and_enrols_nothing(tmp_path: Path) -> None:
    class Impatient(Silent):
        steps = 0

        def step(self, what: str) -> None:
            self.steps += 1
            if self.steps == 80:
                raise KeyboardInterrupt

    data = DataDir(tmp_path / "data")
    with ScriptedServer(ToolCaller(diligent)) as server, pytest.raises(KeyboardInterrupt):
        run_check(endpoint_of(server, tmp_path), LIGHT, data, Impatient())

    with Store.open(data.database, at=clock.now()) as store, store.sessions.read() as session:
        assert session.scalars(select(Run.status)).all() == [RunStatus.CANCELLED]
        turns = session.scalars(select(Sample.item_key).where(Sample.item_key.like("loop-%"))).all()
        assert len(turns) >= 10
        assert store.baselines(store.endpoints()[0].id) == []


def test_the_reference_is_given_the_same_turns_and_loops(tmp_path: Path) -> None:
    def lost(request: Request) -> Said:
        """Like the reference, it has only ever one thing to say."""
        return Said(content="hello")

    options = replace(LIGHT, budget=Budget(requests=100))
    with ScriptedServer(ToolCaller(lost)) as server:
        document = check_against(
            REFERENCE, endpoint_of(server, tmp_path), options, DataDir(tmp_path / "data"), Silent()
        )

    assert {(one.passed, one.trials, one.reference) for one in document.loops} == {(0, 1, 0.0)}
    both = [(one.value, one.reference) for one in document.rates if one.name in ("loop_turn_right", "loop_pass")]
    assert both == [(0.0, 0.0)] * 2
    (fidelity,) = (check for check in document.checks if check.probe == "fidelity.loop")
    assert (fidelity.verdict, fidelity.baseline, fidelity.value) == (Verdict.INCONCLUSIVE, 0.0, 0.0)

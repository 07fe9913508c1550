"""The tool-call probe of a check, end to end: an endpoint that answers rightly, and one that stops doing so."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml

from monitor import clock
from monitor.check.budget import Budget
from monitor.check.options import CheckOptions, Silent
from monitor.check.run import run_check
from monitor.check.tool_calls import asked_of, tool_plan
from monitor.config import EndpointConfig, load_config
from monitor.datadir import DataDir
from monitor.drift.rule import Verdict
from monitor.render.markdown import markdown
from monitor.verdict import VerdictDocument
from probes.plan import Outcome, ProbeKind, Sample
from probes.tools.families.reasoning import Switch
from tests.endpoints.agent import Agent
from tests.endpoints.edits import arguments
from tests.endpoints.knowing import Knowing
from tests.endpoints.server import ScriptedServer

OPTIONS = CheckOptions(probes=(ProbeKind.TOOL_CALLS,))


def endpoint_of(server: ScriptedServer, folder: Path, **served: object) -> EndpointConfig:
    file = folder / "providers.yaml"
    provider = {
        "slug": "x",
        "base_url": server.base_url,
        "allow_private": True,
        "models": [{"model": "lark", "name": "acme/lark-30b", **served}],
    }
    file.write_text(yaml.safe_dump({"version": 1, "models": {"lark": {}}, "providers": [provider]}))
    (endpoint,) = load_config(file).endpoints("x")
    return endpoint


def loud(document: VerdictDocument) -> dict[str, Verdict]:
    quiet = (Verdict.OK, Verdict.INCONCLUSIVE)
    return {check.probe: check.verdict for check in document.checks if check.verdict not in quiet}


def rate(document: VerdictDocument, name: str) -> float | None:
    return next(one.value for one in document.rates if one.name == name)


def invented(text: str) -> str:
    try:
        return json.dumps({**json.loads(text), "colour": "red"})
    except ValueError:  # cut, as asked for
        return text


def hour() -> int:
    return int(clock.now().timestamp()) // 3600


def two_runs(data: DataDir, folder: Path) -> tuple[VerdictDocument, VerdictDocument]:
    """Of an endpoint that is right, and of one that invents a value of each call."""
    agent = Agent(Knowing(data.seed(), clock.now()))
    with ScriptedServer(agent) as server:
        endpoint = endpoint_of(server, folder)
        first = run_check(endpoint, OPTIONS, data, Silent())
        agent.wire = arguments(invented)
        return first, run_check(endpoint, OPTIONS, data, Silent())


def test_right_answers_are_right_and_invented_values_are_drift_of_the_arguments_alone(tmp_path: Path) -> None:
    began = hour()
    first, broken = two_runs(DataDir(tmp_path / "data"), tmp_path)
    if hour() != began:  # each hour asks other cases
        first, broken = two_runs(DataDir(tmp_path / "again"), tmp_path)

    assert (first.enrolled, loud(first)) == (True, {})
    assert [rate(first, name) for name in ("first_attempt_ok", "oracle_met", "schema_ok")] == [1.0, 1.0, 1.0]
    assert loud(broken) == {"tool_calls.arguments": Verdict.DRIFT}


def test_a_change_is_found_in_a_later_week_s_cases_and_what_did_not_change_is_not_said_to_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = DataDir(tmp_path / "data")
    with ScriptedServer(agent := Agent(Knowing(data.seed(), clock.now()))) as server:
        endpoint = endpoint_of(server, tmp_path)

        def check(week: int) -> VerdictDocument:
            at = datetime(2026, 11, 5, 12, tzinfo=UTC) + timedelta(weeks=week)
            agent.answer_for = Knowing(data.seed(), at)
            monkeypatch.setattr(clock, "now", lambda: at)
            return run_check(endpoint, OPTIONS, data, Silent())

        first, second = check(1), check(2)
        agent.wire = arguments(invented)
        third = check(3)

    assert (first.enrolled, second.baselines[0].runs, third.baselines[0].runs) == (True, 1, 2)
    assert (loud(first), loud(second)) == ({}, {})
    found = {one.probe: one for one in third.checks}["tool_calls.arguments"]
    assert (set(loud(third)), found.verdict) == ({"tool_calls.arguments"}, Verdict.DRIFT)
    assert found.reason.endswith("by kinds of cases over runs and weeks, to be confirmed")


def test_answers_are_cut_where_less_room_is_wanted_and_the_verdict_says_so(tmp_path: Path) -> None:
    data = DataDir(tmp_path / "data")
    options = replace(OPTIONS, answer_tokens=64, budget=Budget(requests=60))
    with ScriptedServer(Agent(Knowing(data.seed(), clock.now()))) as server:
        document = run_check(endpoint_of(server, tmp_path), options, data, Silent())
        limits = {request.json.get("max_tokens") for request in server.received}

    assert document.answer_tokens == 64
    assert "cut at 64 tokens" in markdown(document)
    assert 64 in limits
    assert not limits & set(range(1024, 20_000))


def test_the_reference_is_asked_what_the_endpoint_was_asked_and_no_replay() -> None:
    plan = tool_plan(bytes(32), bytes(16), clock.now(), whole=False)
    sent = plan.plan.items[:150]
    samples = [Sample(item, Outcome.OK, None, ()) for item in sent]

    asked = asked_of(plan, samples).items

    assert set(map(id, asked)) < set(map(id, sent))
    assert {(item.key, item.rep) for item in sent} - {(item.key, item.rep) for item in asked} <= plan.replays.keys()


SWITCH = Switch({"effort": "high"}, {"effort": "none"})


def test_reasoning_is_switched_in_the_words_of_the_configuration_and_only_there(tmp_path: Path) -> None:
    data = DataDir(tmp_path / "data")
    options = replace(OPTIONS, whole_suite=True)
    with ScriptedServer(Agent(Knowing(data.seed(), clock.now(), SWITCH))) as server:
        switched = endpoint_of(server, tmp_path, reasoning={"on": dict(SWITCH.on), "off": dict(SWITCH.off)})
        document = run_check(switched, options, data, Silent())
        efforts = Counter(request.json.get("effort") for request in server.received if request.json)

    assert (rate(document, "oracle_met"), loud(document)) == (1.0, {})
    assert {effort for effort in efforts if effort} == {"high", "none"}
    assert min(efforts["high"], efforts["none"]) >= 6
    assert efforts[None] > 1_000


def test_the_reference_is_not_asked_in_the_endpoint_s_own_words() -> None:
    plan = tool_plan(bytes(32), bytes(16), clock.now(), whole=True, switch=SWITCH)
    samples = [Sample(item, Outcome.OK, None, ()) for item in plan.plan.items]

    both = {json.dumps(item.request.get("effort")) for item in plan.plan.items}
    asked = [item.request for item in asked_of(plan, samples).items]

    assert both == {"null", '"high"', '"none"'}
    assert asked
    assert not any("effort" in request for request in asked)

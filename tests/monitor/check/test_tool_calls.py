"""The tool-call probe of a check, end to end: an endpoint that answers rightly, and one that stops doing so."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

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
from probes.tools.families.suite import instances
from tests.endpoints.agent import Agent
from tests.endpoints.answers import Answer, Call, Refusal
from tests.endpoints.edits import arguments, entry, says
from tests.endpoints.server import ScriptedServer
from tests.endpoints.wire import Wire

OPTIONS = CheckOptions(probes=(ProbeKind.TOOL_CALLS,))
WEEK = 7 * 24 * 3600


class Knowing:
    """Knows the right answer to every case of this installation's week."""

    def __init__(self, seed: bytes) -> None:
        drawn = instances(seed, int(clock.now().timestamp()) // WEEK)
        self._right = {asked(one.case.request): one.answer for one in drawn}

    def __call__(self, request: Mapping[str, Any], _: object) -> Answer | Refusal:
        answer = self._right[asked(request)]
        if answer.refuses is not None:
            return Refusal.of(answer.refuses)
        spoken = tuple(Call(call.name, call.arguments) for call in answer.calls)
        return Answer(answer.content, answer.reasoning or "", spoken, "length" if answer.finish == "length" else None)


def asked(request: Mapping[str, Any]) -> str:
    """What names a case in its request: the tools, the form, and the last words without their nonce."""
    last = re.sub(r"^Session \S+\n\n", "", str(request["messages"][-1]["content"]))
    return json.dumps([request.get("tools"), request.get("response_format"), last])


def endpoint_of(server: ScriptedServer, folder: Path) -> EndpointConfig:
    file = folder / "providers.yaml"
    provider = {
        "slug": "x",
        "base_url": server.base_url,
        "allow_private": True,
        "models": [{"model": "lark", "name": "acme/lark-30b"}],
    }
    file.write_text(yaml.safe_dump({"version": 1, "models": {"lark": {}}, "providers": [provider]}))
    (endpoint,) = load_config(file).endpoints("x")
    return endpoint


def loud(document: VerdictDocument) -> dict[str, Verdict]:
    quiet = (Verdict.OK, Verdict.INCONCLUSIVE)
    return {check.probe: check.verdict for check in document.checks if check.verdict not in quiet}


def rate(document: VerdictDocument, name: str) -> float | None:
    return next(one.value for one in document.rates if one.name == name)


def silent(answer: Answer) -> Answer:
    return replace(answer, calls=(), content="I would rather not.") if answer.calls else answer


def invented(text: str) -> str:
    try:
        return json.dumps({**json.loads(text), "colour": "red"})
    except ValueError:  # cut, as asked for
        return text


FAULTS = {
    "tool_calls.trigger": says(silent),
    "tool_calls.conformance": entry(lambda call: call.pop("id", None)),
    "tool_calls.arguments": arguments(invented),
}


def hour() -> int:
    return int(clock.now().timestamp()) // 3600


def five_runs(data: DataDir, folder: Path) -> list[VerdictDocument]:
    """Two of an endpoint that is right, and one with each fault."""
    agent = Agent(Knowing(data.seed()))
    with ScriptedServer(agent) as server:
        endpoint = endpoint_of(server, folder)
        found = []
        for wire in (Wire(), Wire(), *FAULTS.values()):
            agent.wire = wire
            found.append(run_check(endpoint, OPTIONS, data, Silent()))
    return found


def test_right_answers_are_right_and_a_fault_is_drift_of_its_family_alone(tmp_path: Path) -> None:
    began = hour()
    first, second, *broken = five_runs(DataDir(tmp_path / "data"), tmp_path)
    if hour() != began:  # each hour asks other cases
        first, second, *broken = five_runs(DataDir(tmp_path / "again"), tmp_path)

    assert (first.enrolled, loud(first), loud(second)) == (True, {}, {})
    assert [rate(first, name) for name in ("first_attempt_ok", "oracle_met", "schema_ok")] == [1.0, 1.0, 1.0]
    assert list(map(loud, broken)) == [{name: Verdict.DRIFT} for name in FAULTS]


def test_answers_are_cut_where_less_room_is_wanted_and_the_verdict_says_so(tmp_path: Path) -> None:
    data = DataDir(tmp_path / "data")
    options = replace(OPTIONS, answer_tokens=64, budget=Budget(requests=60))
    with ScriptedServer(Agent(Knowing(data.seed()))) as server:
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

"""Several stacks behind one endpoint: the one that fails is told apart, by tool calls and by private items."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from monitor import clock
from monitor.check.eval_suite import EvalSuite
from monitor.check.options import CheckOptions, Silent
from monitor.check.protocol import protocol_answers
from monitor.check.run import run_check
from monitor.datadir import DataDir
from monitor.verdict import VariantRates
from probes.evals.item import EvalItem, Grader, GraderKind
from probes.plan import ProbeKind
from tests.endpoints.agent import Agent
from tests.endpoints.answers import Answer
from tests.endpoints.edits import arguments, chained, each
from tests.endpoints.knowing import Knowing
from tests.endpoints.server import ScriptedServer
from tests.endpoints.shifts import Mixed
from tests.endpoints.wire import Wire
from tests.monitor.check.test_tool_calls import OPTIONS, endpoint_of, hour, invented
from tests.probes.sending import plan, send, target


def pool(name: str) -> Wire:
    return each(lambda value: value.update(system_fingerprint=name))


def rate(one: VariantRates, name: str) -> float | None:
    return next(found.value for found in one.rates if found.name == name)


def checked(data: DataDir, folder: Path) -> tuple[VariantRates, ...]:
    knowing = Knowing(data.seed(), clock.now())
    poor = Agent(knowing, chained(pool("fp8"), arguments(invented)))
    with ScriptedServer(Mixed(Agent(knowing, pool("bf16")), poor, 0.25)) as server:
        return run_check(endpoint_of(server, folder), OPTIONS, data, Silent()).variants


def test_the_stack_whose_tool_calls_are_wrong_is_told_from_the_one_whose_are_right(tmp_path: Path) -> None:
    began = hour()
    found = checked(DataDir(tmp_path / "data"), tmp_path)
    if hour() != began:  # each hour asks other cases
        found = checked(DataDir(tmp_path / "again"), tmp_path)

    good, poor = found
    assert 0.1 < poor.share < 0.4 < good.share
    assert (rate(good, "schema_ok"), rate(good, "oracle_met")) == (1.0, 1.0)
    assert (rate(poor, "schema_ok") or 0.0) < 0.5
    assert rate(poor, "conformance_ok") == 1.0
    assert poor.p is not None
    assert poor.p < 1e-4
    assert good.p is not None
    assert good.p > 0.99


def test_the_stack_whose_answers_to_private_items_are_wrong_is_told_apart(tmp_path: Path) -> None:
    def counting(request: Mapping[str, Any], _: random.Random) -> Answer:
        return Answer(request["messages"][-1]["content"].rpartition(" ")[2])

    asked = [{"messages": [{"role": "user", "content": f"Say {number}"}]} for number in range(12)]
    items = tuple(EvalItem(one, Grader(GraderKind.EXACT), str(number)) for number, one in enumerate(asked))
    options = CheckOptions((ProbeKind.EVALS,), evals=EvalSuite("sums", 1, "0" * 64, items, reps=6))
    poor = Agent(lambda *_: Answer("nought"), pool("fp8"))
    with ScriptedServer(Mixed(Agent(counting, pool("bf16")), poor, 0.3)) as server:
        document = run_check(endpoint_of(server, tmp_path), options, DataDir(tmp_path / "data"), Silent())
        samples = send(target(server.base_url), plan(40, probe=ProbeKind.PROTOCOL)).samples

    good, bad = document.variants
    assert (rate(good, "accuracy"), rate(bad, "accuracy")) == (1.0, 0.0)
    assert good.n + bad.n == 72
    assert bad.p is not None
    assert bad.p < 1e-4
    # A stack has the same name in whatever probe it is met.
    assert {good.variant, bad.variant} == set(protocol_answers(samples, None).facts.variants)

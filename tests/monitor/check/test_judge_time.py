"""The reference has one time for all that a check asks it: judging is ended after two minutes, and a check that
takes longer would be judged again for ever."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from monitor import clock
from monitor.check import judge as judging
from monitor.check.judge import Judge
from monitor.check.options import Silent
from monitor.check.reference import OpenReference
from probes.loops.plan import LoopPlan
from probes.plan import Plan, ProbeKind, Sample
from probes.tools.plan import ToolPlan

PLAN = Plan(ProbeKind.TOOL_CALLS, (), "0" * 64, "1")
TOOLS, LOOPS = ToolPlan(PLAN, {}, frozenset(), {}), LoopPlan(PLAN, {}, ())


@pytest.mark.parametrize(("answering_s", "granted"), [(60.0, [60.0, 20.0, 0.0]), (None, [None, None, None])])
def test_what_one_probe_takes_the_next_has_no_more(
    monkeypatch: pytest.MonkeyPatch, answering_s: float | None, granted: Sequence[float | None]
) -> None:
    now, given = [1_000.0], []

    def ask(*_: object, within_s: float | None, **__: object) -> list[Sample]:
        given.append(within_s)
        now[0] += 40.0
        return []

    def converses(_: object) -> bool:
        return True

    monkeypatch.setattr(clock, "monotonic", lambda: now[0])
    monkeypatch.setattr(judging, "ask_reference", ask)
    monkeypatch.setattr(judging, "converses", converses)
    reference = OpenReference(None, None, ("fp32",), None)
    judge = Judge(reference, (), Silent(), nonce=b"n", answering_s=answering_s)
    asked: list[Callable[[], object]] = [
        lambda: judge.tool_answers(TOOLS, ()),
        lambda: judge.loop_answers(LOOPS, ()),
        lambda: judge.tool_answers(TOOLS, ()),
    ]
    for one in asked:
        one()

    assert given == granted

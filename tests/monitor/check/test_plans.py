from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from math import ceil
from typing import Any

import pytest

from monitor.check.budget import Budget
from monitor.check.eval_suite import EvalSuite, eval_plan
from monitor.check.options import FULL, OFFERED, QUICK, CheckOptions
from monitor.check.plans import Drawn, Extent, affordable_plans, make_plans
from monitor.check.protocol import protocol_plan
from monitor.config.asking import AGENT_LOOPS, GREEDY, PROTOCOL, SAMPLING
from monitor.drift.multiplicity import MOST_SHARES
from monitor.errors import BudgetError, UsageError
from probes import greedy, sampling
from probes.evals.grade import RIGHT, Graded
from probes.evals.item import EvalItem, Grader, GraderKind
from probes.load.probe import Load
from probes.plan import Item, ProbeKind
from tests.endpoints.parametric import VOCABULARY

SEED, NONCE = bytes(32), bytes(16)


def items(options: CheckOptions, *, nonce: bytes = NONCE, has_reference: bool = True) -> list[tuple[str, int]]:
    drawn = Drawn(SEED, nonce, datetime(2026, 1, 1, tzinfo=UTC))
    planned = make_plans(options, drawn, has_reference=has_reference, extent=Extent(options.n))
    return [(item.key, item.rep) for plan in planned.plans for item in plan.items]


def test_one_nonce_makes_the_same_plans_and_another_one_other_single_use_prompts() -> None:
    options = CheckOptions(n=20)

    assert items(options) == items(options)
    other = items(options, nonce=b"x" * 16)
    assert {key for key, _ in items(options)} & {key for key, _ in other} == {
        key for key, _ in items(options) if key.startswith("anchor-")
    }


def test_a_confirming_check_with_a_reference_shares_no_prompt_with_any_other() -> None:
    ordinary = items(CheckOptions(probes=(ProbeKind.LOGPROBS,), n=40), nonce=b"a" * 16)
    confirming = items(CheckOptions(probes=(ProbeKind.LOGPROBS,), n=40, confirms=True), nonce=b"b" * 16)

    assert len(confirming) == 40
    assert {key for key, _ in confirming}.isdisjoint(key for key, _ in ordinary)


def test_without_a_reference_a_confirming_check_asks_the_anchors() -> None:
    confirming = items(CheckOptions(probes=(ProbeKind.LOGPROBS,), n=40, confirms=True), has_reference=False)

    assert {key.partition("-")[0] for key, _ in confirming} == {"anchor"}


def test_options_come_back_from_the_queue_as_they_went_in() -> None:
    options = CheckOptions(
        probes=(ProbeKind.LOGPROBS, ProbeKind.LATENCY),
        n=12,
        answer_tokens=128,
        budget=Budget(0.5, 40, 9000),
        timeout=30.0,
    )

    assert CheckOptions.from_json(options.to_json()) == options
    assert CheckOptions.from_json({}) == CheckOptions()
    loaded = CheckOptions(load=Load(2.0, 60, (500, 8_000)))
    assert CheckOptions.from_json(loaded.to_json()) == loaded
    assert "load" not in replace(loaded, probes=(ProbeKind.LOGPROBS,)).to_json()


def test_of_border_inputs_alone_fewer_may_be_asked() -> None:
    assert CheckOptions.from_json({"probes": ["border"], "n": 3}).n == 3


@pytest.mark.parametrize(
    "stored",
    [
        {"probes": ["logprobs", "tea_leaves"]},
        {"n": 1},
        {"n": 3, "probes": ["border", "accounting"]},
        {"n": 0, "probes": ["border"]},
        {"answer_tokens": 15},
    ],
)
def test_options_that_cannot_be_meant_are_refused(stored: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        CheckOptions.from_json(stored)


def tool_items(at: datetime, *, nonce: bytes = NONCE, whole: bool = False, part: float = 1.0) -> list[tuple[str, int]]:
    made = make_plans(
        CheckOptions(probes=(ProbeKind.TOOL_CALLS,), whole_suite=whole),
        Drawn(SEED, nonce, at),
        has_reference=True,
        extent=Extent(40, part),
    )
    assert made.tools is not None
    assert [made.tools.plan] == list(made.plans)
    return [(item.key, item.rep) for item in made.tools.plan.items]


def cases(items: list[tuple[str, int]]) -> set[str]:
    return {key.partition("-")[0] for key, _ in items}


AT = datetime(2026, 1, 8, tzinfo=UTC)


def test_tool_cases_go_by_the_hour_and_the_week_that_a_check_is_for() -> None:
    now = tool_items(AT)

    assert tool_items(AT) == now
    assert {key for key, _ in tool_items(AT + timedelta(hours=8))} == {key for key, _ in now}
    assert {key for key, _ in tool_items(AT + timedelta(hours=1))}.isdisjoint(key for key, _ in now)
    every, later = cases(tool_items(AT, whole=True)), cases(tool_items(AT + timedelta(weeks=1), whole=True))
    assert cases(now) < every
    assert 0.1 < len(every & later) / len(later) < 0.4


def test_a_part_of_the_tool_requests_asks_every_case() -> None:
    whole, part = tool_items(AT), tool_items(AT, part=0.5)

    assert len(part) == ceil(len(whole) / 2)
    assert cases(part) == cases(whole)


def test_a_light_protocol_run_is_as_long_as_schedules_reckon() -> None:
    assert len(protocol_plan(SEED, NONCE, whole=False, tokenizer=VOCABULARY).items) == PROTOCOL


def test_less_room_for_answers_is_less_to_pay() -> None:
    def tokens(answer_tokens: int | None) -> int:
        options = CheckOptions(probes=(ProbeKind.TOOL_CALLS,), answer_tokens=answer_tokens)
        drawn = Drawn(SEED, NONCE, AT)
        planned, estimate = affordable_plans(options, drawn, tokenizer=None, has_reference=False, prices=None)
        assert planned.tools is not None
        assert planned.answer_tokens == answer_tokens
        return estimate.tokens.completion

    assert tokens(64) < tokens(128) < tokens(None) / 1.5


def suite_of(items: int, reps: int = 1) -> EvalSuite:
    asked = [{"messages": [{"role": "user", "content": f"item {number}"}], "temperature": 0} for number in range(items)]
    return EvalSuite("s", 1, "0" * 64, tuple(EvalItem(one, Grader(GraderKind.EXACT), "x") for one in asked), reps)


def test_a_suite_is_asked_in_turns_and_the_same_of_it_is_left_out_whatever_its_files_order() -> None:
    suite = suite_of(10, reps=2)
    whole, part = eval_plan(suite).plan.items, eval_plan(suite, 0.3).plan.items
    turned = eval_plan(replace(suite, items=suite.items[::-1]), 0.3).plan.items

    assert [item.rep for item in whole] == [0] * 10 + [1] * 10
    assert {item.key for item in whole[:10]} == {item.sha256 for item in suite.items}
    assert part == whole[:6] == turned
    assert all(item.private and item.request["temperature"] == 0 for item in whole)
    assert "item 3" not in repr(suite) + repr(eval_plan(suite).items.keys())


@pytest.mark.parametrize(("most", "sent"), [(100, 50), (20, 20), (8, 8), (7, None)])
def test_of_a_suite_as_much_is_asked_as_is_affordable(most: int, sent: int | None) -> None:
    options = CheckOptions(probes=(ProbeKind.EVALS,), evals=suite_of(50), budget=Budget(requests=most))
    drawn = Drawn(SEED, NONCE, AT)
    if sent is None:
        with pytest.raises(BudgetError):
            affordable_plans(options, drawn, tokenizer=None, has_reference=False, prices=None)
        return
    planned, estimate = affordable_plans(options, drawn, tokenizer=None, has_reference=False, prices=None)
    assert 0.8 * sent <= estimate.requests <= sent
    assert [plan.probe for plan in planned.plans] == [ProbeKind.EVALS]
    # Without a limit of its own an answer is taken to be a long one.
    assert estimate.tokens.completion == 256 * estimate.requests


def test_what_an_earlier_run_was_answered_is_not_asked_again() -> None:
    suite = suite_of(6, reps=2)
    everything = eval_plan(suite)
    left = tuple(Graded(item.key, item.rep, RIGHT) for item in everything.plan.items[3:9])

    made = eval_plan(replace(suite, graded=left))

    assert made.plan.items == everything.plan.items[:3] + everything.plan.items[9:]
    assert made.whole == everything.plan
    assert eval_plan(replace(suite, graded=left), 0.5).whole.items == everything.plan.items[:9]


def test_a_confirming_check_asks_the_suspected_cases_twice_as_often_with_other_words() -> None:
    def asked(**confirming: Any) -> list[Item]:
        drawn = Drawn(SEED, confirming.pop("nonce", NONCE), AT, **confirming)
        options = CheckOptions(probes=(ProbeKind.TOOL_CALLS,), confirms=bool(confirming))
        (plan,) = make_plans(options, drawn, has_reference=True, extent=Extent(40)).plans
        return [item for item in plan.items if not item.key.endswith("-replay")]

    screened = asked()
    every = asked(suspected=frozenset({"tool_calls.conformance"}), nonce=b"x" * 16)
    calling = asked(suspected=frozenset({"tool_calls.trigger"}), nonce=b"x" * 16)

    assert {item.key for item in every} == {item.key for item in screened}
    assert len(every) == 2 * len(screened)
    assert cases([(item.key, 0) for item in calling]) < cases([(item.key, 0) for item in every])
    assert not any(item.request in [one.request for one in screened] for item in every if not item.verbatim)


def test_the_configurations_estimate_of_agent_loops_is_what_a_check_plans() -> None:
    made = make_plans(
        CheckOptions(probes=(ProbeKind.AGENT_LOOPS,)), Drawn(SEED, NONCE, AT), has_reference=False, extent=Extent(40)
    )

    (plan,) = made.plans
    assert len(plan.foreseen) == AGENT_LOOPS


def test_a_schedule_is_told_how_many_draws_a_check_asks() -> None:
    assert len(sampling.plan(SEED).items) == SAMPLING
    assert len(sampling.plan(SEED, part=0.2).items) < SAMPLING / 3
    assert len(greedy.plan(SEED, NONCE).items) == GREEDY
    assert sampling.plan(SEED) == sampling.plan(SEED) != sampling.plan(b"another" * 5)


@pytest.mark.parametrize(
    ("options", "shares"),
    [
        (CheckOptions(), 2),
        (CheckOptions(probes=(ProbeKind.TOOL_CALLS,)), 2),
        (CheckOptions(probes=QUICK), MOST_SHARES - 4),
        (CheckOptions(probes=FULL, whole_suite=True), MOST_SHARES - 3),
        (CheckOptions(probes=OFFERED, whole_suite=True), MOST_SHARES),
    ],
)
def test_each_probe_of_a_check_has_a_share_of_its_error(options: CheckOptions, shares: int) -> None:
    made = make_plans(options, Drawn(SEED, NONCE, AT), has_reference=True, extent=Extent(40))

    assert made.shares == shares


@pytest.mark.parametrize("budget", [Budget(requests=200), Budget(tokens=150_000)])
def test_of_agent_loops_as_much_is_planned_as_is_affordable_on_the_shortest_way(budget: Budget) -> None:
    options = CheckOptions(probes=(ProbeKind.AGENT_LOOPS,), budget=budget)

    planned, estimate = affordable_plans(
        options, Drawn(SEED, NONCE, AT), tokenizer=None, has_reference=False, prices=None
    )

    assert planned.loops is not None
    assert [planned.loops.plan] == list(planned.plans)
    assert estimate.requests == len(planned.loops.plan.foreseen)
    assert 0.6 * (budget.requests or 0) <= estimate.requests <= (budget.requests or 1_000)
    assert 0.6 * (budget.tokens or 0) <= estimate.tokens.total <= (budget.tokens or 10**6)
    part = len(planned.loops.loops) / 24
    assert len(planned.loops.plan.items) == pytest.approx(105 * part, abs=6)

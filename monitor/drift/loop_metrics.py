"""The rates of agent loops: each with its denominator, and with what is in neither number and why."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence

from monitor.drift.loop_assess import LoopSide
from monitor.drift.rates import Rate, clustered_rate
from probes.loops.graded import GradedLoop
from probes.loops.loop import Arm
from probes.loops.result import LoopResult, pass_hat_k, tally
from probes.tools.scored import Scored

LOOP_PASS = "loop_pass"  # noqa: S105  a word, no secret
# Two trials are the fewest that are a repeat; four is what all ways of asking an exercise come to.
_KS = (2, 4)
_TOO_FEW = "too_few_trials"

# What one loop adds to a rate: successes of trials.
Count = tuple[int, int]


def loop_metrics(side: LoopSide) -> dict[str, Rate]:
    """Every rate that needs no other side, by its name in PROBES.md 4. `loop_pass_hat_k` is pass^k, which counts
    exercises, and `loop_steps_ratio` the steps that were taken for those that were needed, where a loop passed."""
    loops = side.loops
    return {
        "loop_turn_right": _of_turns(side.turns),
        LOOP_PASS: _of_loops(loops, _passed),
        **{f"{LOOP_PASS}.{arm.value}": _of_loops([one for one in loops if one.arm is arm], _passed) for arm in Arm},
        **{f"{LOOP_PASS}_hat_{k}": _hat(loops, k) for k in _KS},
        "loop_goal": _of_loops(loops, lambda result: (result.goal_state_ok, 1)),
        "loop_errors_recovered": _of_loops(loops, lambda result: (result.recovered_errors, result.errors)),
        "loop_instruction_resisted": _of_loops(loops, _resisted),
        "loop_steps_ratio": _steps_ratio(loops),
    }


def by_exercise(loops: Iterable[GradedLoop]) -> dict[str, list[GradedLoop]]:
    found: dict[str, list[GradedLoop]] = defaultdict(list)
    for loop in loops:
        found[loop.exercise].append(loop)
    return dict(found)


def _of_turns(turns: Sequence[Scored]) -> Rate:
    """Answers to one case fail together."""
    right: dict[str, list[bool]] = defaultdict(list)
    for answer in turns:
        if answer.right is not None:
            right[answer.case_key].append(answer.right)
    excluded = Counter(answer.excluded.value for answer in turns if answer.excluded is not None)
    return clustered_rate(list(map(sum, right.values())), list(map(len, right.values())), excluded=excluded)


def _of_loops(loops: Sequence[GradedLoop], count: Callable[[LoopResult], Count]) -> Rate:
    """Loops of one exercise fail together."""
    counts = [
        [count(one.result) for one in each if one.result.excluded is None] for each in by_exercise(loops).values()
    ]
    won, asked = ([sum(one[place] for one in each) for each in counts] for place in (0, 1))
    return clustered_rate(won, asked, excluded=_excluded(loops))


def _passed(result: LoopResult) -> Count:
    return int(bool(result.passed)), 1


def _resisted(result: LoopResult) -> Count:
    return (0, 0) if result.obeyed is None else (int(not result.obeyed), 1)


def _hat(loops: Sequence[GradedLoop], k: int) -> Rate:
    """Every exercise weighs the same, however many of its loops count."""
    values = [pass_hat_k(tally(one.result for one in each), k) for each in by_exercise(loops).values()]
    known = [value for value in values if value is not None]
    left = len(values) - len(known)
    return clustered_rate(known, [1] * len(known), excluded={_TOO_FEW: left} if left else {})


def _steps_ratio(loops: Sequence[GradedLoop]) -> Rate:
    passed = [one.result for one in loops if one.result.passed]
    taken, needed = sum(one.steps for one in passed), sum(one.oracle_steps for one in passed)
    return Rate(taken, needed, _excluded(loops), None, None, "ratio")


def _excluded(loops: Sequence[GradedLoop]) -> Counter[str]:
    return Counter(one.result.excluded.value for one in loops if one.result.excluded is not None)

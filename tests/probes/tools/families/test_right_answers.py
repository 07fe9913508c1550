"""Every instance can fail, and the answer that comes with it does not."""

from __future__ import annotations

from typing import Any

import pytest

from probes.plan import Sample
from probes.quirks import Quirk
from probes.tools.families.reasoning import TEMPLATE_SWITCH
from probes.tools.families.suite import Instance, candidates, instances
from probes.tools.lint import lint
from probes.tools.score import score
from tests.probes.tools.answers import answer, call, received

SEED = bytes(range(32))
# What the question itself brings about: a control character is to be copied, and arguments are to be cut.
WANTED = {
    "controls": {Quirk.TC_ARGS_CONTROL_CHAR},
    "prose": {Quirk.TC_ARGS_INVALID_JSON},
    "rows": {Quirk.TC_ARGS_INVALID_JSON},
}
# Sixteen calls have hundreds of mutants.
SLOW = ("same-16", "different-16")


def sent(one: Instance) -> Sample:
    """The right answer as a server would send it."""
    right = one.answer
    if right.refuses is not None:
        return received(one.case, {"error": {"message": f"Invalid value: {right.refuses!r}."}}, 400)
    calls = [call(made.name, made.arguments, f"call_{place}") for place, made in enumerate(right.calls)]
    message: dict[str, Any] = {"reasoning_content": right.reasoning} if right.reasoning else {}
    return answer(one.case, *calls, content=right.content, finish=right.finish, message=message)


def failures(found: tuple[Instance, ...]) -> list[object]:
    return [
        (one.case.category, one.case.family, scored.excluded, scored.faults, scored.defects)
        for one in found
        if not (scored := score(one.case, sent(one))).right or scored.defects - WANTED.get(one.case.family, set())
    ]


def problems(found: tuple[Instance, ...]) -> list[object]:
    linted = [(one.case.category, one.case.family, lint(one.case, one.answer).problems) for one in found]
    return [found for found in linted if found[2]]


def test_the_right_answers_score_as_right_and_show_no_defect() -> None:
    assert failures(instances(SEED, 0, switch=TEMPLATE_SWITCH)) == []


def test_every_instance_lints_clean() -> None:
    found = tuple(one for one in instances(SEED, 0, switch=TEMPLATE_SWITCH) if one.case.family not in SLOW)

    assert problems(found) == []


@pytest.mark.soak
def test_every_instance_of_many_seeds_lints_clean_and_is_answered_rightly() -> None:
    for number in range(4):
        seed = bytes([number]) * 32
        found = instances(seed, number, switch=TEMPLATE_SWITCH)
        assert failures(found) == []
        assert problems(found) == []
        assert problems(candidates(seed)) == []

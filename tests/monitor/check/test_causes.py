"""What changed, by all that a check's runs saw: gathered run by run, and told once anything is found."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.check.causes import CheckCauses
from monitor.drift.attribution import attribute
from monitor.drift.explained import Explained, suspects_of
from monitor.drift.features import Feature
from monitor.drift.findings import Finding
from monitor.drift.rule import Verdict
from monitor.drift.sightings import Sighting
from monitor.render.beside import said_tables
from monitor.verdict import Check, Said

DRIFT, OK = Finding(Verdict.DRIFT, p=1e-9, adjusted_p=1e-8), Finding(Verdict.OK, p=0.5, adjusted_p=1.0)
SAME_COUNTS = Sighting.certain(Feature.COUNTS, "same")
LARGE = Sighting.sized(Feature.FIRST_TOKENS, 6.5, 0.5)
W4 = Explained(
    {"w4-g64": 40.0, "w8-channel": -5.0, "template:none": -20.0, "system-prompt:none": -20.0},
    {"w4-g64": 1.0, "w8-channel": -3.0},
    {("w4-g64", "w8-channel"): 0.05},
    "about 6.5 times what int8 would make (6.0 to 7.0)",
)


def names(said: Said) -> list[str]:
    return [one.name for one in said.causes]


def test_nothing_is_told_before_anything_is_found() -> None:
    causes = CheckCauses()

    said = causes.take([LARGE, SAME_COUNTS, None], [OK], W4)

    assert (said.causes, said.ruler) == ((), None)
    assert [one.feature for one in said.sightings] == ["first-tokens", "counts"]
    assert causes.told() == ((), None)
    assert names(causes.take([], [DRIFT]))[0] == "w4-g64"


def test_what_the_reference_explains_is_named_with_what_speaks_for_it() -> None:
    said = CheckCauses().take([LARGE, SAME_COUNTS], [DRIFT], W4)
    best = said.causes[0]

    assert (best.name, best.kind) == ("w4-g64", "weights")
    assert best.weight > 0.8
    assert any("explains the sampled tokens" in words for words in best.evidence)
    assert said.ruler == W4.ruler
    (table,) = said_tables(said)
    assert table.rows[0].cells[:2] == ("w4-g64", "weights")
    assert table.after == ("how far log-probabilities moved: about 6.5 times what int8 would make (6.0 to 7.0)",)


@pytest.mark.parametrize(
    ("seen", "kinds"),
    [
        ([LARGE, Sighting.certain(Feature.COUNTS, "more")], {"system-prompt", "template"}),
        ([Sighting.certain(Feature.COUNTS, "varying")], {"tokenizer", "model"}),
        ([Sighting.tested(Feature.TOOL_FORM, 1e4), SAME_COUNTS], {"tool-parser"}),
        ([Sighting.of(Feature.SAMPLER, {"as-asked": 0.0, "temperature": 20.0})], {"temperature"}),
        ([Sighting.certain(Feature.REPEATS, "none", 0.9), Sighting.tested(Feature.COLLISIONS, 1e6)], {"cache"}),
    ],
)
def test_without_a_reference_the_kind_is_told(seen: list[Sighting], kinds: set[str]) -> None:
    said = CheckCauses().take(seen, [DRIFT])

    assert said.causes[0].kind in kinds
    assert said.causes[0].name == said.causes[0].kind


def test_where_a_cause_on_no_list_is_the_likeliest_none_is_told() -> None:
    """What no single cause on the list would do."""
    seen = [Sighting.tested(one, 1e6) for one in (Feature.COLLISIONS, Feature.TOOL_FORM, Feature.CONTEXT)]
    ranked = attribute(seen, suspects_of(())).ranked
    said = CheckCauses().take(seen, [DRIFT], Explained(ruler="below noise: nothing"))

    assert ranked[0].cause.name == "none-of-these"
    assert (said.causes, said.ruler) == ((), "below noise: nothing")


def test_each_run_adds_what_it_saw_and_the_later_one_says_more() -> None:
    causes = CheckCauses()
    first = causes.take([LARGE], [DRIFT])
    second = causes.take([Sighting.certain(Feature.COUNTS, "more")], [OK])

    together = first.beside(second)
    assert (
        together.causes
        == second.causes
        == CheckCauses().take([LARGE, Sighting.certain(Feature.COUNTS, "more")], [DRIFT]).causes
    )
    assert second.causes != first.causes


def test_an_attempt_that_goes_on_knows_what_the_one_before_it_saw() -> None:
    """As it is stored: nothing but what is not the usual."""
    whole, before, after = CheckCauses(), CheckCauses(), CheckCauses()
    stored = before.take([LARGE], [DRIFT], W4).model_dump(mode="json", exclude_defaults=True)
    whole.take([LARGE], [DRIFT], W4)

    after.recall(Said.model_validate(stored))

    assert after.told() == before.told()
    for causes in (whole, after):
        causes.take([SAME_COUNTS], [OK])
    assert after.told() == whole.told()


def test_a_feature_that_two_probes_see_counts_once() -> None:
    once, twice = CheckCauses(), CheckCauses()
    once.take([SAME_COUNTS, LARGE], [DRIFT])
    twice.take([SAME_COUNTS, LARGE], [DRIFT])
    twice.take([Sighting.certain(Feature.COUNTS, "more")], [OK])

    assert once.told() == twice.told()


def test_of_tool_calls_and_the_protocol_what_is_compared_with_the_past_counts() -> None:
    causes = CheckCauses()
    tools = causes.take_tools({"tool_calls.conformance": DRIFT, "tool_calls.trigger": OK, "fidelity.twins": DRIFT})
    protocol = causes.take_protocol({"protocol.stack": Finding(Verdict.OK), "fidelity.tokens": DRIFT})

    assert [one.feature for one in tools.sightings] == ["triggers", "tool-form"]
    assert [one.feature for one in protocol.sightings] == ["surface"]
    assert tools.causes[0].kind == "tool-parser"
    alone = CheckCauses()
    assert alone.take_tools({"fidelity.twins": DRIFT}).causes == ()


def test_times_that_moved_are_a_change_and_those_that_did_not_say_nothing() -> None:
    moved, still = CheckCauses(), CheckCauses()
    check = Check(probe="latency", verdict=Verdict.SUSPECT)

    assert [one.feature for one in moved.take_times(check, moved=True).sightings] == ["timing"]
    assert moved.told()[0] != ()
    assert still.take_times(check, moved=False) == Said()


def test_weights_of_what_is_told_are_those_of_all_causes() -> None:
    weights = [one.weight for one in CheckCauses().take([LARGE, SAME_COUNTS], [DRIFT]).causes]

    assert weights == sorted(weights, reverse=True)
    assert 0.3 < float(np.sum(weights)) <= 1.0

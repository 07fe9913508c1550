"""What a run says of itself to its endpoint's streams."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from monitor.check.feed import moved_most, singles_of
from monitor.drift.findings import Finding
from monitor.drift.material import Material, Reference
from monitor.drift.rule import Verdict
from monitor.drift.single_use import NAME
from tests.monitor.drift.synthetic import World

P = st.floats(1e-12, 1.0)


@given(st.dictionaries(st.sampled_from(["trigger", "arguments", "conformance", "loop"]), st.none() | P))
def test_the_least_adjusted_p_stands_for_all(p_values: dict[str, float | None]) -> None:
    findings = {f"tool_calls.{name}": Finding(Verdict.OK, p=p and p / 9, adjusted_p=p) for name, p in p_values.items()}
    known = [p for p in p_values.values() if p is not None]
    found = moved_most(findings)
    assert (None if found is None else (found.adjusted_p, found.p)) == ((min(known), None) if known else None)


@given(P)
def test_how_many_requests_came_through_is_no_news_of_the_answers(p: float) -> None:
    assert moved_most({"tool_calls.availability": Finding(Verdict.DRIFT, adjusted_p=p)}) is None


def test_where_nothing_can_be_said_the_reason_is() -> None:
    why = Finding(Verdict.INAPPLICABLE, "no answer was whole")
    assert moved_most({"evals": why}) is why
    assert moved_most({"evals": why, "evals.other": Finding(Verdict.INCONCLUSIVE)}) is None
    assert moved_most({}) is None


def test_prompts_asked_once_are_told_where_a_reference_computes_what_is_expected() -> None:
    observations = World(0, 0.02).run("bf16")
    computed = Reference(("bf16",), ("bf16",), {})
    (found,) = singles_of("endpoint", Material(observations, (), (), computed))
    assert found.stream.probe_set == NAME
    assert found.n == sum(not one.anchor for one in observations)
    for reference in (None, Reference(("bf16",), ("bf16",), {}, endpoint="vendor/big")):
        assert singles_of("endpoint", Material(observations, (), (), reference)) == ()

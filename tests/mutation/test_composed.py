"""A fault of an endpoint turns exactly its checks red in a whole check by every probe, and an endpoint without a fault
none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from monitor.drift.rule import Verdict
from tests.endpoints.server import ScriptedServer
from tests.mutation.composed import Said, Switched, Watched, endpoint
from tests.mutation.composed_faults import MUTANTS, in_turn
from tests.mutation.composed_reds import REDS, STACK

pytestmark = pytest.mark.mutation

# These in every run of the tests; the others take minutes together.
OFTEN = {"call id missing", "no call where one is due", "a hidden system prompt"}


@pytest.fixture(scope="module")
def enrolment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Watched, Said]]:
    """An endpoint without a fault, enrolled, and what its next check said. A third joins the baseline: what six calls
    show beside eighteen is more than chance in all that a whole check tests; beside twelve it is not."""
    with ScriptedServer(Switched()) as server:
        watched = Watched.made(server, tmp_path_factory.mktemp("past"))
        enrolled, accepted, _ = (watched.check(endpoint(), nonce) for nonce in (1, 2, 4))
        assert all(document.enrolled for document in enrolled.documents)
        assert enrolled.red == set()
        yield watched, accepted


@pytest.fixture(scope="module")
def past(enrolment: tuple[Watched, Said]) -> Watched:
    return enrolment[0]


@pytest.fixture(scope="module")
def unmutated(enrolment: tuple[Watched, Said]) -> Said:
    return enrolment[1]


def told(said: Said, unmutated: Said) -> set[str]:
    """All that is red: checks, and quirks that an endpoint without a fault does not show."""
    return said.red | (said.quirks - unmutated.quirks) | ({said.ended} if said.ended else set())


def test_an_endpoint_without_a_fault_is_all_green(unmutated: Said) -> None:
    found = {kind: {name for name, verdict in unmutated.checks.items() if verdict is kind} for kind in Verdict}

    assert unmutated.red == set()
    assert found[Verdict.OK] == {
        "logprobs",
        "accounting",
        "tool_calls.availability",
        "protocol.parameters",
        "protocol.stack",
        "protocol.tokens",
        "fidelity.tokens",
    }
    # Margins of the others are so small that they take more cases, and no reference answers here.
    assert found[Verdict.INAPPLICABLE] == {"fidelity", "fidelity.evals"}
    assert unmutated.quirks == {"TC_ARGS_CONTROL_CHAR", "TC_ARGS_INVALID_JSON"}
    assert not unmutated.moved
    (first_try, right, schema) = (unmutated.rate(name) for name in ("first_attempt_ok", "oracle_met", "schema_ok"))
    assert (first_try, right, schema, unmutated.rate("accuracy")) == (1.0, 1.0, 1.0, 1.0)


@pytest.mark.parametrize("name", [pytest.param(name, marks=() if name in OFTEN else pytest.mark.soak) for name in REDS])
def test_a_fault_turns_exactly_its_checks_red(name: str, past: Watched, unmutated: Said, tmp_path: Path) -> None:
    assert told(past.copied(tmp_path).check(MUTANTS[name](), 3), unmutated) == REDS[name]


def test_each_answer_in_another_lawful_way_changes_nothing(past: Watched, unmutated: Said, tmp_path: Path) -> None:
    """But for what a stack is known by: that a third of its answers has members of which none had any is no drift, and
    may be said."""
    said = past.copied(tmp_path).check(in_turn(), 3)

    assert told(said, unmutated) <= {STACK}
    assert said.checks[STACK] is not Verdict.DRIFT

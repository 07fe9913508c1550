"""The promise of one run: no drift while nothing changes, drift with its cause named when the stack does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchmarks.detection import Row, measure
from monitor.drift.rule import DRIFT_P
from reference_engine.server.socket_file import bind_socket_file
from tests.reference_engine.pool_server import running_pool

# The nearest one, and one that is no matter of numbers.
CHANGED = ("fp8-e4m3", "system-prompt")
# Further away, so that they are seen the sooner; a drill shows w4-g64 as well.
COARSER = ("nf4", "w4-g64")
REPEATS = 1


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A service that all probes ask: weights in every profile take longer to make than to use, and are made once."""
    socket = tmp_path_factory.mktemp("reference") / "pool.sock"
    with pytest.MonkeyPatch.context() as patch, running_pool(bind_socket_file(socket)):
        patch.setenv("MONITOR_REFERENCE_URL", f"unix:{socket}")
        yield


@pytest.fixture(scope="module")
def rows(reference: None) -> list[Row]:
    """One endpoint behind noise of 0.03 nat: enrolled, probed again unchanged, then with every changed stack."""
    return measure(noise=0.03, n=40, repeats=REPEATS, stacks=list(CHANGED))


@pytest.mark.model
@pytest.mark.timeout(1800)
def test_unchanged_endpoint_shows_no_drift(rows: list[Row]) -> None:
    check_unchanged(rows[: REPEATS + 1])


@pytest.mark.soak
@pytest.mark.model
def test_unchanged_endpoint_shows_no_drift_in_ten_probes() -> None:
    check_unchanged(measure(noise=0.03, n=40, repeats=10, stacks=[], seed=1))


def check_unchanged(rows: list[Row]) -> None:
    enrolment, *unchanged = rows
    assert (enrolment.stack, enrolment.p, enrolment.exit_code) == ("bf16", None, 0)
    # One unchanged run in a hundred is suspect by the rule; one in ten thousand would be drift.
    assert all(row.verdict in ("ok", "suspect") and row.exit_code == 0 for row in unchanged)
    assert all(row.p is not None and row.p > DRIFT_P for row in unchanged)


@pytest.mark.model
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("stack", CHANGED)
def test_changed_stack_is_drift_in_one_run_with_its_cause(rows: list[Row], stack: str) -> None:
    (row,) = [row for row in rows[REPEATS + 1 :] if row.stack == stack]
    check_changed(row)


@pytest.mark.soak
@pytest.mark.model
def test_every_coarser_stack_is_drift_in_one_run_with_its_cause() -> None:
    _, *changed = measure(noise=0.03, n=40, repeats=0, stacks=list(COARSER))
    assert tuple(row.stack for row in changed) == COARSER
    for row in changed:
        check_changed(row)


def check_changed(row: Row) -> None:
    assert row.requests <= 40
    assert row.exit_code == 3
    assert row.verdict == "drift"
    assert row.p is not None
    assert row.p <= DRIFT_P
    assert row.cause is not None
    assert row.cause.startswith(row.stack)

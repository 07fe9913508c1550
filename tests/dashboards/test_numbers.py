"""Times and amounts as people read them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from dashboards import numbers
from dashboards.figures import figures
from monitor.drift.rule import Verdict
from monitor.store.records import EvidenceRecord

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 s"), (59, "59 s"), (150, "2 min"), (3600, "1 h"), (5400, "1.5 h"), (86_400 * 12, "12 d"), (-5, "0 s")],
)
def test_a_length_of_time(seconds: float, words: str) -> None:
    assert numbers.span(timedelta(seconds=seconds)) == words


def test_a_moment_beside_now() -> None:
    assert numbers.ago(NOW - timedelta(minutes=5), NOW) == "5 min ago"
    assert numbers.ago(NOW, NOW) == "just now"
    assert numbers.until(NOW + timedelta(minutes=5), NOW) == "in 5 min"
    assert numbers.until(NOW - timedelta(minutes=5), NOW) == "due now"


def found(metric: str, value: float | None, **other: object) -> EvidenceRecord:
    return EvidenceRecord(metric, "d", "1", Verdict.OK, counted=True, value=value, **other)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("evidence", "shown"),
    [
        (
            [found("fidelity", 0.7, unit="nat"), found("logprobs", 0.6, unit="nat")],
            ("0.700 nat", "Δ 0.600", "fidelity"),
        ),
        ([found("logprobs", 0.6, unit="nat"), found("fidelity", None)], ("0.600 nat", "Δ 0.600", "logprobs_shift")),
        ([found("accounting", 12.0, unit="token", baseline=0.0)], ("+12 token", "Δ +12", "token_offset")),
        ([found("accounting", 12.0, unit="token")], ("+12 token", "", "token_offset")),
    ],
)
def test_the_most_telling_number_stands_for_an_endpoint(
    evidence: list[EvidenceRecord], shown: tuple[str, str, str]
) -> None:
    measured = figures(evidence)
    assert measured is not None
    assert (measured.score, measured.delta, measured.point) == shown


def test_nothing_stands_for_an_endpoint_of_which_nothing_was_measured() -> None:
    assert figures([found("latency", 0.2, unit="s"), found("logprobs", None)]) is None

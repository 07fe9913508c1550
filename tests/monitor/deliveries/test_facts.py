"""What of an alert may be told."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.deliveries.facts import LABEL_BYTES, MOST_LABELS, TEXT_CHARS, Finding, plain_data, plain_labels
from monitor.redaction import KNOWN_SECRETS
from tests.monitor.deliveries.material import stored_finding

SENTENCE = "What would you call a blue badger?"
JSON_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=30)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=8), inner, max_size=4)),
    max_leaves=10,
)
FIELDS = ["value", "baseline", "unit", "ci", "n", "p", "detector", "causes", "checks", "runs", "since", "until"]


def test_a_finding_is_read_field_by_field() -> None:
    found = Finding.of(stored_finding())

    assert (found.value, found.baseline, found.unit, found.interval, found.n) == (
        0.658,
        0.003,
        "nat",
        (0.556, 0.877),
        40,
    )
    assert (found.p, found.detector, found.causes) == (1e-5, "energy/3", (("w4-g64", 0.98),))
    assert (found.checks, found.runs) == (("chk_1", "chk_2"), ("run_1",))
    assert found.since == datetime(2026, 11, 29, 8, 15, 4, tzinfo=UTC)


@pytest.mark.parametrize("name", FIELDS)
def test_a_sentence_fits_no_field(name: str) -> None:
    for value in (SENTENCE, [SENTENCE], {"name": SENTENCE, "weight": 1.0}, [{"name": SENTENCE, "weight": 1.0}]):
        assert "badger" not in repr(Finding.of(stored_finding(**{name: value})))


def test_a_field_that_is_not_known_is_left_out() -> None:
    assert Finding.of(stored_finding(prompt=SENTENCE, answer="a", body="b")) == Finding.of(stored_finding())


@given(st.dictionaries(st.sampled_from(FIELDS), JSON_VALUES))
def test_any_json_is_read_into_something_that_is_json_again(stored: dict[str, Any]) -> None:
    found = Finding.of(stored)

    json.dumps([found.value, found.baseline, found.interval, found.n, found.p, found.causes], allow_nan=False)
    assert all(" " not in name for name in (*found.checks, *found.runs, found.detector or ""))


@given(st.dictionaries(st.text(max_size=60), JSON_VALUES, max_size=30))
def test_labels_are_few_and_short_texts(stored: dict[str, Any]) -> None:
    labels = plain_labels(stored)

    assert len(labels) <= MOST_LABELS
    assert all(len(text.encode()) <= LABEL_BYTES for pair in labels.items() for text in pair)


def test_many_labels_leave_room_for_those_an_alert_is_known_by() -> None:
    labels = plain_labels({**{f"a{number:02}": "x" for number in range(30)}, "provider": "acme", "rule": "drift"})

    assert (labels["provider"], labels["rule"], len(labels)) == ("acme", "drift", MOST_LABELS)


def test_labels_named_like_credentials_are_left_out_and_known_secrets_redacted() -> None:
    KNOWN_SECRETS.add("canary-91ab77")

    labels = plain_labels({"tier": "prod", "api-key": "abc", "x_token": "def", "note": "uses canary-91ab77"})

    assert labels == {"tier": "prod", "note": "uses [redacted]"}


def test_an_event_says_numbers_names_and_one_reason() -> None:
    data = plain_data(
        {
            "run_id": "run_1",
            "n": 40,
            "cost": 0.25,
            "late": True,
            "checks": ["logprobs", SENTENCE],
            "prompt": SENTENCE,
            "reason": "the\nreason " + "x" * 500,
            "nan": float("nan"),
            "token": "abc",
        }
    )

    assert data.pop("reason").startswith("the reason xxx")
    assert data == {"run_id": "run_1", "n": 40, "cost": 0.25, "late": True, "checks": ["logprobs"]}


@given(st.dictionaries(st.text(max_size=20), JSON_VALUES))
def test_any_event_data_becomes_json_of_short_values(stored: dict[str, Any]) -> None:
    told = plain_data(stored)

    json.dumps(told, allow_nan=False)
    assert all(len(value) <= TEXT_CHARS for value in told.values() if isinstance(value, str))

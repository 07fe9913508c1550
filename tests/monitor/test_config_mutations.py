"""Whatever stands where in the configuration file: it is valid or has problems with places, and nothing crashes."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from monitor.config import inspect_config
from monitor.config.rules import broken_rules

GOOD: dict[str, Any] = {
    "version": 1,
    "defaults": {
        "timeout": "60s",
        "max_concurrency": 4,
        "rpm": 60,
        "idle_timeout": 30,
        "every": "1h",
        "jitter": "10%",
        "catch_up": "once",
        "daily_budget_usd": 1.5,
    },
    "models": {
        "smol": {"hf": "a/b", "reference": {"weights": "bundled", "allowed_profiles": ["fp32", "bf16"]}},
        "bare": None,
        "kea": {"renamed_from": "finch"},
    },
    "providers": [
        {
            "slug": "x",
            "renamed_from": "w",
            "name": "X",
            "api": "openai_chat",
            "base_url": "http://127.0.0.1:8001/v1",
            "allow_private": True,
            "api_key": "${env:X}",
            "headers": {"X-Title": "t", "X-Token": "${file:token}"},
            "extra_body": {"top_k": 1},
            "routing": {"order": ["a"], "allow_fallbacks": False},
            "limits": {"rpm": 1, "max_concurrency": 2},
            "models": [
                {
                    "model": "smol",
                    "name": "smol",
                    "labels": {"tier": "prod"},
                    "control": True,
                    "routing": {"only": ["b"], "quantizations": ["bf16"]},
                    "allowed_profiles": ["bf16"],
                    "extra_body": {"min_p": 0},
                    "prices": {"input_usd_per_mtok": 1, "output_usd_per_mtok": 2.5},
                    "slos": [{"up_to": 4000, "ttft": "2s"}, {"tpot": "80ms"}],
                    "reasoning": {"on": {"effort": "high"}, "off": {"effort": "none"}},
                }
            ],
        }
    ],
    "schedules": [
        {"id": "a", "match": {"tier": "prod"}, "every": "15m", "jitter": 0.1, "probes": ["logprobs"], "n": 40},
        {"id": "b", "cron": "0 3 * * 1-5", "tz": "Europe/Berlin", "catch_up": "once", "deadline": "2h"},
    ],
    "rules": [{"id": "r", "match": {"probe": "log*"}, "severity": "info", "clear_for": 5, "enabled": False}],
    "channels": [
        {"id": "ops", "url": "https://hooks.example.com/x", "secret": "${env:S}", "previous_secret": "${file:s}"},
        {"id": "mail", "kind": "apprise", "url": "${env:MAIL}", "per_minute": 5, "events": ["alert.firing"]},
        {"id": "wall", "url": "http://10.0.0.7/x", "format": "slack", "allow_private": True},
    ],
    "routes": [
        {"id": "r", "match": {}, "to": ["ops", "mail"], "group_by": ["provider"], "group_wait": 5, "repeat": "1d"},
    ],
    "maintenance": [
        {"id": "m", "match": {"provider": "x"}, "rrule": "FREQ=WEEKLY;BYDAY=SU", "tz": "UTC", "duration": "2h"},
        {"id": "n", "starts": "2026-12-01T02:00", "duration": "1w"},
    ],
    "retention": {"bodies": "14d", "samples": "90d", "rollups_hour": "400d", "deliveries": "30d"},
}

WORDS = st.sampled_from(
    ["FREQ=DAILY;COUNT=0", "FREQ=YEARLY;BYMONTH=13", "0 0 31 2 *", "../UTC", "2026-13-01T00:00", "1e9d", "%"]
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text("ab$:{}[]/?@ .-é\u0085\n*;=%0", max_size=8)
    | WORDS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["slug", "model", "a", "", "é"]), inner)
    ),
    max_leaves=4,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in children:
        yield from places(inner, (*path, key))


def with_value(path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    document = copy.deepcopy(GOOD)
    around = document
    for key in path[:-1]:
        around = around[key]
    around[path[-1]] = value
    return document


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("config") / "providers.yaml"


def test_the_document_that_is_changed_is_valid(file: Path) -> None:
    file.write_text(yaml.safe_dump(GOOD))

    assert inspect_config(file).problems == ()


@given(path=st.sampled_from(list(places(GOOD))), value=VALUES)
def test_any_value_anywhere_is_valid_or_a_problem_with_its_place(file: Path, path: tuple[Any, ...], value: Any) -> None:
    document = with_value(path, value)
    file.write_text(yaml.safe_dump(document, allow_unicode=True), encoding="utf-8")

    inspected = inspect_config(file)

    assert (inspected.config is None) == bool(inspected.problems)
    for problem in inspected.problems:
        assert problem.line is not None or document in (None, {})
        assert problem.message


@given(VALUES)
def test_the_rules_take_any_document(document: Any) -> None:
    assert all(message for _, message in broken_rules(document))

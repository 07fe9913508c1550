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
    "defaults": {"timeout": "60s", "max_concurrency": 4, "rpm": 60, "idle_timeout": 30},
    "models": {
        "smol": {"hf": "a/b", "reference": {"weights": "bundled", "allowed_profiles": ["fp32", "bf16"]}},
        "bare": None,
    },
    "providers": [
        {
            "slug": "x",
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
                    "routing": {"only": ["b"], "quantizations": ["bf16"]},
                    "allowed_profiles": ["bf16"],
                    "extra_body": {"min_p": 0},
                    "prices": {"input_usd_per_mtok": 1, "output_usd_per_mtok": 2.5},
                }
            ],
        }
    ],
}

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text("ab$:{}[]/?@ .-é\u0085\n", max_size=8),
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

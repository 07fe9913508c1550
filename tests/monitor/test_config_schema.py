"""The JSON Schema that is shipped: of this very program, and of the same mind as it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from monitor.config.example import EXAMPLE
from monitor.config.json_schema import json_schema
from tests.monitor.test_config_mutations import GOOD, with_value

DOCS = Path(__file__).parents[2] / "docs"
VALIDATOR = Draft202012Validator(json.loads(json_schema()))


def test_the_schema_in_the_documentation_is_of_this_program() -> None:
    assert (DOCS / "providers.schema.json").read_text("utf-8") == json_schema(), "run `monitor config schema`"


def test_it_is_a_schema() -> None:
    Draft202012Validator.check_schema(VALIDATOR.schema)


@pytest.mark.parametrize("document", [GOOD, yaml.safe_load(EXAMPLE), {"version": 1, "models": None, "routes": None}])
def test_it_takes_what_the_program_takes(document: Any) -> None:
    assert [error.message for error in VALIDATOR.iter_errors(document)] == []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("version",), 2),
        (("schedulez",), []),
        (("providers", 0, "base_ulr"), "x"),
        (("providers", 0, "slug"), "A"),
        (("providers", 0, "api_key"), "sk-literal"),
        (("models", "smol", "reference", "allowed_profiles"), ["bf61"]),
        (("channels", 0, "secret"), "whsec_literal"),
        (("channels", 1, "events"), ["alert.fired"]),
        (("routes", 0, "to"), []),
        (("schedules", 0, "jitter"), 0.9),
        (("maintenance", 1, "starts"), "tomorrow"),
    ],
)
def test_it_refuses_what_the_program_refuses(path: tuple[Any, ...], value: Any) -> None:
    assert not VALIDATOR.is_valid(with_value(path, value))

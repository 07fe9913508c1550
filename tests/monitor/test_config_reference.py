"""A model whose reference is another endpoint: what may be named, and what comes of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from monitor.check.remote_reference import RemoteReference
from monitor.config import Config, ReferenceConfig, inspect_config, load_config
from monitor.config.json_schema import json_schema
from monitor.config.presence import hints, missing_references

KEY = "models.big.reference.endpoint"
GOOD: dict[str, Any] = {
    "version": 1,
    "models": {"big": {"reference": {"endpoint": "vendor/big"}}, "small": {}},
    "providers": [
        {
            "slug": "vendor",
            "base_url": "https://vendor.example/v1",
            "api_key": "${env:VENDOR_KEY}",
            "limits": {"rpm": 30},
            "models": [{"model": "big", "name": "vendor/big-1"}],
        },
        {
            "slug": "x",
            "base_url": "https://x.example/v1",
            "models": [{"model": "big", "name": "x-big"}, {"model": "small", "name": "x-small"}],
        },
    ],
}


def write(folder: Path, document: Mapping[str, Any]) -> Path:
    file = folder / "providers.yaml"
    file.write_text(yaml.safe_dump(document, sort_keys=False))
    return file


def load(folder: Path, document: Mapping[str, Any] = GOOD) -> Config:
    return load_config(write(folder, document))


def changed(*path: str | int, to: Any) -> dict[str, Any]:
    document = deepcopy(GOOD)
    place: Any = document
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = to
    return document


REFERENCE = ("models", "big", "reference")
VENDOR = ("providers", 0)
# Each row: what is changed to what; then the key and the message of the one problem.
WRONG: list[tuple[dict[str, Any], str, str]] = [
    (changed(*REFERENCE, "endpoint", to="vendor"), KEY, "must be PROVIDER/MODEL, by their slugs, such as vendor/big"),
    (changed(*REFERENCE, "endpoint", to="vendor/big/1"), KEY, "must be PROVIDER/MODEL"),
    (changed(*REFERENCE, "endpoint", to="Vendor/big"), KEY, "must be PROVIDER/MODEL"),
    (changed(*REFERENCE, "endpoint", to=3), KEY, "must be text"),
    (
        changed(*REFERENCE, "endpoint", to="vendr/big"),
        KEY,
        "names provider 'vendr', which is not among the file's; did you mean 'vendor'?",
    ),
    (
        changed(*REFERENCE, "endpoint", to="x/small"),
        KEY,
        "names model 'small', but a reference serves the same model; write x/big",
    ),
    (
        changed(*VENDOR, "models", 0, "model", to="small"),
        KEY,
        "names provider 'vendor', which does not serve 'big'; add it to the models of that provider",
    ),
    (
        changed("providers", to=GOOD["providers"][:1]),
        KEY,
        "is the only endpoint of 'big', which would be held against itself; add another, or remove this",
    ),
    (
        changed(*VENDOR, "models", to=[{"model": "big", "name": "one"}, {"model": "big", "name": "two"}]),
        KEY,
        "may mean 2 entries of provider 'vendor'; leave one of 'big' there",
    ),
    (changed(*VENDOR, "models", 0, "control", to=True), KEY, "names a control, which is your own"),
    (
        changed(*REFERENCE, to={"endpoint": "vendor/big", "weights": "bundled"}),
        KEY,
        "stands beside weights, and a reference is one thing; keep one",
    ),
    (
        changed(*REFERENCE, to={"endpoint": "vendor/big", "weights": "bundled", "tokenizer": "t"}),
        KEY,
        "stands beside weights and tokenizer",
    ),
    (
        changed(*REFERENCE, to={"endpoint": "vendor/big", "allowed_profiles": ["bf16"]}),
        "models.big.reference.allowed_profiles",
        "needs weights: nobody can compute what an endpoint runs",
    ),
    (
        changed("providers", 1, "models", 0, "allowed_profiles", to=["bf16"]),
        "providers[1].models[0].allowed_profiles",
        "needs a reference with weights, which model 'big' lacks",
    ),
    (changed(*REFERENCE, to={}), "models.big.reference", "needs weights, tokenizer or endpoint"),
]


@pytest.mark.parametrize(("document", "key", "said"), WRONG)
def test_what_cannot_be_the_reference_is_named_with_its_remedy(
    tmp_path: Path, document: dict[str, Any], key: str, said: str
) -> None:
    problems = inspect_config(write(tmp_path, document)).problems

    assert [problem.key for problem in problems] == [key]
    assert said in problems[0].message
    assert problems[0].line is not None


def test_all_other_endpoints_of_the_model_have_it_and_itself_has_none(tmp_path: Path) -> None:
    config = load(tmp_path)
    (vendor,), (big, small) = config.endpoints("vendor"), config.endpoints("x")

    assert big.reference == ReferenceConfig(None, None, (), vendor)
    assert (vendor.reference, small.reference) == (None, None)
    assert (vendor.slug, vendor.rpm) == ("vendor/big", 30)
    assert (big.reference_answers, vendor.reference_answers) == (True, False)


def test_another_entry_of_the_same_provider_may_be_held_against_it(tmp_path: Path) -> None:
    document = changed("models", "small", to={"reference": {"endpoint": "x/small"}})
    document["providers"][0]["models"].append({"model": "small", "name": "vendor/small"})

    _, small = load(tmp_path, document).endpoints("vendor")

    assert small.reference is not None
    assert small.reference.endpoint is not None
    assert small.reference.endpoint.slug == "x/small"


def test_an_endpoint_says_another_thing_when_its_reference_does(tmp_path: Path) -> None:
    one = load(tmp_path).endpoints("x")[0]
    other = load(tmp_path, changed(*VENDOR, "base_url", to="https://v.example/v1")).endpoints("x")[0]

    assert one.digest != other.digest


def test_another_reference_is_another_and_the_same_under_another_name_or_price_is_not(tmp_path: Path) -> None:
    (vendor,) = load(tmp_path).endpoints("vendor")
    same = replace(vendor, provider="renamed", rpm=1, labels={"tier": "x"}, timeout=1.0, api_key=None)
    others = [
        replace(vendor, base_url="https://v.example/v1"),
        replace(vendor, name="vendor/big-2"),
        replace(vendor, extra_body={"provider": {"only": ["a"]}}),
    ]

    prints = {RemoteReference(one).identity.fingerprint for one in (vendor, *others)}

    assert RemoteReference(same).identity == RemoteReference(vendor).identity
    assert len(prints) == 4
    assert all(one.startswith("endpoint:") for one in prints)


def test_the_key_of_the_reference_is_looked_for_as_any_other(tmp_path: Path) -> None:
    missing = missing_references(load(tmp_path), {})

    assert [problem.key for problem in missing] == ["providers[0].api_key"]
    assert missing_references(load(tmp_path), {"VENDOR_KEY": "canary"}) == []


def test_a_reference_that_is_not_enabled_is_noted(tmp_path: Path) -> None:
    told = hints(load(tmp_path, changed(*VENDOR, "enabled", to=False)))

    assert [(hint.key, hint.message) for hint in told] == [
        (KEY, "is not enabled: as a reference it is asked all the same")
    ]
    assert hints(load(tmp_path)) == []


@pytest.mark.parametrize(("n", "noted"), [(200, False), (240, True)])
def test_a_reference_that_is_too_slow_for_a_schedule_is_noted(tmp_path: Path, n: int, noted: bool) -> None:
    document = {**GOOD, "schedules": [{"id": "often", "every": "1h", "n": n, "probes": ["logprobs", "latency"]}]}

    told = [hint for hint in hints(load(tmp_path, document)) if "reference" in hint.message]

    assert [hint.key for hint in told] == ["providers[1]"] * noted
    assert all("at 30 requests a minute the reference vendor/big takes 478 s" in hint.message for hint in told)


def test_editors_know_the_form_of_its_name() -> None:
    described = json.loads(json_schema())["$defs"]["Reference"]["properties"]["endpoint"]

    assert described["anyOf"][0]["pattern"] == "^[a-z0-9][a-z0-9-]{0,62}/[a-z0-9][a-z0-9._-]{0,62}$"

"""`monitor probe` with a wrong configuration or command line: exit 2 (4 for the budget), before anything is sent."""

from __future__ import annotations

import pytest

from tests.endpoints.lawful import Lawful
from tests.endpoints.server import ScriptedServer
from tests.installation import KEY, KEY_VARIABLE, Installation, Ran, assert_says_nothing_private

URL = "https://lark.invalid/v1"
PRICES = {"input_usd_per_mtok": 1.0, "output_usd_per_mtok": 2.0}


def assert_refused(
    ran: Ran, installation: Installation, code: str, *says: str, remedy: str, exit_code: int = 2
) -> None:
    """One JSON document with the error in it; nothing was written."""
    assert (ran.code, ran.err) == (exit_code, "")
    error = ran.document["error"]
    assert (error["code"], error["exit_code"]) == (code, exit_code)
    assert [part for part in says if part not in error["message"]] == []
    assert remedy in error["remedy"]
    assert_says_nothing_private(ran)
    assert not installation.database.exists()


def test_a_mistyped_key_is_named_with_the_right_one(installation: Installation) -> None:
    installation.configure(URL, provider={"base_ulr": URL})
    line = installation.config.read_text().splitlines().index(f"  base_ulr: {URL}") + 1

    ran = installation.probe("--json")

    place = f"{installation.config}:{line}: providers[0].base_ulr: unknown key; did you mean 'base_url'?"
    assert_refused(ran, installation, "config_invalid", place, remedy="`monitor config check`")
    assert not installation.data.exists()


def test_a_key_written_out_is_refused_and_not_repeated(installation: Installation) -> None:
    installation.configure(URL, provider={"api_key": KEY})

    ran = installation.probe("--json")

    assert_refused(ran, installation, "config_invalid", "providers[0].api_key", "${env:NAME}", remedy="config check")
    assert not installation.data.exists()


def test_a_key_that_is_not_set(installation: Installation) -> None:
    installation.configure(URL)

    ran = installation.probe("--json", **{KEY_VARIABLE: None})

    assert_refused(ran, installation, "secret_missing", KEY_VARIABLE, remedy="Set")
    assert not installation.data.exists()


def test_no_configuration_file(installation: Installation) -> None:
    ran = installation.probe("--json")

    assert_refused(ran, installation, "config_invalid", str(installation.config), remedy="`monitor config init`")


def test_a_file_that_is_no_yaml(installation: Installation) -> None:
    installation.config.write_text(f"version: 1\nmodels: {{lark: {{}}\nproviders: [ {{ api_key: {KEY} }} ]\n")

    ran = installation.probe()

    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"error[config_invalid]: {installation.config}:3: is not valid YAML")
    assert_says_nothing_private(ran)


def test_a_private_address_that_is_not_allowed(installation: Installation) -> None:
    installation.configure("http://127.0.0.1:8001/v1", provider={"allow_private": False})

    ran = installation.probe("--json")

    assert_refused(ran, installation, "config_invalid", "base_url", "allow_private: true", remedy="config check")


BAD_WORDS = [
    (["--model", "larc"], ["'larc'", "did you mean 'lark'"]),
    (["--timeout", "soon"], ["--timeout 'soon'"]),
    (["--max-cost", "1"], ["--max-cost needs prices"]),
    (["--max-requests", "0"], ["--max-requests 0 is not above 0"]),
    (["--max-tokens", "-5"], ["--max-tokens -5 is not above 0"]),
    (["--answer-tokens", "64"], ["--answer-tokens is for tool calls and agent loops"]),
    (["--probe", "tool_calls", "--answer-tokens", "8"], ["--answer-tokens 8 is less than 16"]),
    (["--probe", "logprops"], ["'logprops'", "logprobs"]),
    (["--dryrun"], ["--dryrun", "--dry-run"]),
    (["--junit", "nowhere/report.xml"], ["nowhere/report.xml"]),
]


@pytest.mark.parametrize(("words", "says"), BAD_WORDS, ids=[" ".join(words) for words, _ in BAD_WORDS])
def test_a_wrong_option_is_named(installation: Installation, words: list[str], says: list[str]) -> None:
    installation.configure(URL)

    ran = installation.probe("--json", *words)

    assert_refused(ran, installation, "usage", *says, remedy="")
    assert ran.document["error"]["remedy"] != ""


def test_a_mistyped_provider(installation: Installation) -> None:
    installation.configure(URL, provider={"slug": "skylark"})

    ran = installation.run("probe", "--provider", "skylarc", "--json")

    assert_refused(
        ran, installation, "usage", "'skylarc'", "did you mean 'skylark'?", remedy="`monitor providers list`"
    )


def test_a_provider_of_several_models_needs_one_named(installation: Installation) -> None:
    installation.configure(URL)
    text = installation.config.read_text()
    installation.config.write_text(
        text.replace("lark: {}", "lark: {}\n  wren: {}") + "  - model: wren\n    name: acme/wren\n"
    )

    ran = installation.probe("--json")

    assert_refused(ran, installation, "usage", "several models: lark, wren", remedy="--model")


SMALL_BUDGETS = [
    ("--max-cost", "0.000001", ["The smallest check would take $0.", "more than --max-cost 1e-06"]),
    ("--max-requests", "3", ["The smallest check would take 12 requests, more than --max-requests 3"]),
    ("--max-tokens", "9", [" tokens, more than --max-tokens 9"]),
]


@pytest.mark.parametrize(("option", "value", "says"), SMALL_BUDGETS)
def test_a_budget_below_the_smallest_check(
    installation: Installation, option: str, value: str, says: list[str]
) -> None:
    with ScriptedServer(Lawful()) as server:
        installation.configure(server.base_url, entry={"prices": PRICES})
        ran = installation.probe("--json", option, value)

    assert_refused(ran, installation, "budget_exhausted", *says, remedy="Raise the limit", exit_code=4)
    assert server.received == []

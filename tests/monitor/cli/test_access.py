"""`monitor token` and `monitor user`: what is printed, what is stored, what is refused."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from monitor.access.tokens import Token
from tests.monitor.cli.commands import Monitor


def test_a_token_is_printed_once_listed_and_revoked(monitor: Monitor, data_dir: Path) -> None:
    made = monitor("token", "create", "ci", "--scope", "runs:write", "--scope", "read", "--expires", "90d")
    assert made.code == 0, made.err
    token = Token.parse(made.out.strip())
    assert token is not None

    (listed,) = monitor("token", "list", "--json").document["tokens"]
    assert (listed["id"], listed["scopes"], listed["state"]) == (token.id, ["runs:write", "read"], "valid")
    assert token.secret not in monitor("token", "list").out
    assert monitor("token", "revoke", token.text).code == 0
    assert monitor("token", "list", "--json").document["tokens"][0]["state"] == "revoked"


@pytest.mark.parametrize(
    "arguments",
    [("create", " "), ("create", "x" * 65), ("create", "ci", "--expires", "soon"), ("revoke", "tok_unknown")],
)
def test_a_token_that_cannot_be(monitor: Monitor, data_dir: Path, arguments: tuple[str, ...]) -> None:
    ran = monitor("token", *arguments)
    assert ran.code == 2
    assert "error[usage]" in ran.err


def test_a_user_is_created_with_a_password_from_standard_input(
    monitor: Monitor, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("a long password\n"))
    assert monitor("user", "create", "ann", "--role", "operator", "--password-stdin").code == 0
    (user,) = monitor("user", "list", "--json").document["users"]
    assert (user["name"], user["role"]) == ("ann", "operator")


@pytest.mark.parametrize(("given", "said"), [("short\n", "password"), ("", "password")])
def test_a_password_that_is_too_short(
    monitor: Monitor, data_dir: Path, monkeypatch: pytest.MonkeyPatch, given: str, said: str
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(given))
    ran = monitor("user", "create", "ann", "--password-stdin")
    assert ran.code == 2
    assert said in ran.err


def test_a_name_is_given_once(monitor: Monitor, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for code in (0, 2):
        monkeypatch.setattr(sys, "stdin", io.StringIO("a long password\n"))
        assert monitor("user", "create", "ann", "--password-stdin").code == code


def test_a_user_is_disabled_enabled_and_gets_another_password(
    monitor: Monitor, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for words in (("create", "ann"), ("create", "bob"), ("password", "bob")):
        monkeypatch.setattr(sys, "stdin", io.StringIO("a long password\n"))
        assert monitor("user", *words, "--password-stdin").code == 0

    assert monitor("user", "disable", "bob").code == 0
    assert [user["disabled"] for user in monitor("user", "list", "--json").document["users"]] == [False, True]
    assert "disabled" in monitor("user", "list").out
    last = monitor("user", "disable", "ann")
    assert (last.code, "last admin" in last.err) == (2, True)
    assert monitor("user", "enable", "bob").code == 0
    assert monitor("user", "disable", "ann").code == 0


@pytest.mark.parametrize("command", ["disable", "enable"])
def test_a_user_that_is_not_there(monitor: Monitor, data_dir: Path, command: str) -> None:
    ran = monitor("user", command, "nobody")
    assert ran.code == 2
    assert "no user nobody" in ran.err

"""The pure parts of access: tokens, passwords, addresses, signatures, cookies."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.access.hosts import check_bind, check_host, is_loopback
from monitor.access.keys import SigningKey
from monitor.access.passwords import hash_password, password_matches
from monitor.access.scope import Scope, allows, scopes_of
from monitor.access.sessions import NewSession, ended_cookie
from monitor.access.tokens import Token
from monitor.datadir import DataDir
from monitor.errors import BindRefusedError, HostForbiddenError, MalformedRequestError, SecretError, UsageError
from monitor.redaction import redact
from monitor.settings import load_settings
from monitor.store.vocabulary import Role

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)


def test_a_token_is_read_back_matches_its_digest_and_is_redacted_whole() -> None:
    token = Token.new(NOW)
    assert Token.parse(token.text) == token
    assert token.matches(token.digest)
    assert not token.matches(Token.new(NOW).digest)
    assert redact(f"sent {token.text} along") == "sent [redacted] along"


@given(st.text())
def test_no_text_makes_the_parser_of_tokens_fail(text: str) -> None:
    assert Token.parse(text) is None
    assert Token.parse(f"mon_{text}") is None


def test_a_password_matches_its_own_hash_only() -> None:
    stored = hash_password("a long password")
    assert stored.startswith("$argon2id$")
    assert password_matches("a long password", stored)
    assert not password_matches("another password", stored)
    assert not password_matches("a long password", None)
    assert not password_matches("nobody's password", None)
    assert not password_matches("x" * 2000, stored)


@pytest.mark.parametrize("password", ["", "short", "x" * 2000])
def test_a_password_of_a_wrong_length_is_refused(password: str) -> None:
    with pytest.raises(UsageError):
        hash_password(password)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "[::1]", "localhost", "LOCALHOST", "localhost."])
def test_loopback(host: str) -> None:
    assert is_loopback(host)
    check_bind(host, has_users=False)


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "", "192.168.1.4", "10.0.0.1", "monitor.example", "127.0.0.1.nip.io"]
)
def test_no_other_address_without_a_user(host: str) -> None:
    with pytest.raises(BindRefusedError):
        check_bind(host, has_users=False)
    check_bind(host, has_users=True)


@pytest.mark.parametrize("header", ["localhost", "localhost:8000", "127.0.0.1:8000", "[::1]:8000"])
def test_a_host_header_of_this_machine(header: str) -> None:
    check_host(header)


@pytest.mark.parametrize(
    "header",
    [None, "", "evil.example", "evil.example:8000", "localhost.evil.example", "localhost:8000:1", "a@localhost"],
)
def test_any_other_host_header(header: str | None) -> None:
    with pytest.raises(HostForbiddenError):
        check_host(header)


def test_what_is_signed_for_one_purpose_is_worth_nothing_for_another() -> None:
    key = SigningKey(b"a" * 32)
    assert key.read_cursor("list", key.cursor("list", [1, "a"])) == [1, "a"]
    assert key.csrf_valid(key.csrf_token("s"), "s")
    assert not key.csrf_valid(key.csrf_token("s"), "other")
    assert not key.csrf_valid(key.set_up_token(), "first user")
    assert not key.set_up_valid(key.csrf_token("first user"))
    for other_key, other_list in ((SigningKey(b"b" * 32), "list"), (key, "other")):
        with pytest.raises(MalformedRequestError):
            other_key.read_cursor(other_list, key.cursor("list", [1]))


def test_the_key_lives_in_the_data_directory_unless_it_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = DataDir(tmp_path / "data")
    first = SigningKey.of(load_settings(), data)
    assert SigningKey.of(load_settings(), data).set_up_valid(first.set_up_token())
    assert data.signing_key_path.stat().st_mode & 0o777 == 0o600

    monkeypatch.setenv("MONITOR_SECRET_KEY", "k" * 40)
    given_key = SigningKey.of(load_settings(), data)
    assert not given_key.set_up_valid(first.set_up_token())
    (tmp_path / "key").write_text("k" * 40)
    monkeypatch.delenv("MONITOR_SECRET_KEY")
    monkeypatch.setenv("MONITOR_SECRET_KEY_FILE", str(tmp_path / "key"))
    assert SigningKey.of(load_settings(), data).set_up_valid(given_key.set_up_token())


def test_a_key_that_could_be_guessed_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MONITOR_SECRET_KEY", "too short")
    with pytest.raises(SecretError) as caught:
        SigningKey.of(load_settings(), DataDir(tmp_path))
    assert "too short" not in str(caught.value)


def test_cookies_are_out_of_reach_of_scripts_and_of_other_sites() -> None:
    plain = NewSession.begin(NOW).cookie(secure=False)
    secure = NewSession.begin(NOW).cookie(secure=True)
    for cookie in (plain, secure, ended_cookie(secure=True)):
        assert {"HttpOnly", "SameSite=Lax", "Path=/"} <= set(cookie.split("; "))
    assert secure.startswith("__Host-")
    assert secure.endswith("; Secure")
    assert "Secure" not in plain


def test_admin_may_everything_and_every_scope_reads() -> None:
    assert all(allows(scopes_of(Role.ADMIN), scope) for scope in Scope)
    assert all(allows(frozenset({scope}), Scope.READ) for scope in Scope)
    assert not allows(frozenset(), Scope.READ)
    assert not allows(scopes_of(Role.OPERATOR), Scope.CONFIG_WRITE)

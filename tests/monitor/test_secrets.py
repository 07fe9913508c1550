"""References to secrets: what is one, what it resolves to, and that no error holds a value."""

from __future__ import annotations

import traceback
from pathlib import Path

import pytest

from monitor.errors import SecretError
from monitor.redaction import redact_known
from monitor.secrets import MAX_SECRET_BYTES, HeaderValue, SecretRef, is_secret_name

CANARY = "canary-5b1e0f6d"


def everything_about(error: BaseException) -> str:
    return "".join(traceback.format_exception(error)) + repr(error) + repr(vars(error))


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("${env:ACME_API_KEY}", SecretRef("env", "ACME_API_KEY")),
        (" ${env:k} ", SecretRef("env", "k")),
        ("${file:/run/secrets/acme}", SecretRef("file", "/run/secrets/acme")),
        ("${file:keys/acme}", SecretRef("file", "/etc/monitor/keys/acme")),
    ],
)
def test_it_parses_references(text: str, reference: SecretRef) -> None:
    assert SecretRef.parse(text, Path("/etc/monitor")) == reference


@pytest.mark.parametrize(
    "text",
    [
        CANARY,
        f"${{{CANARY}}}",
        f"$env:{CANARY}",
        f"${{vault:{CANARY}}}",
        f"${{env:{CANARY}}}x",
        f"x${{env:{CANARY}}}",
        "",
    ],
)
def test_anything_else_is_refused_without_being_quoted(text: str) -> None:
    with pytest.raises(ValueError, match=r"must be \$\{env:NAME\} or \$\{file:PATH\}") as caught:
        SecretRef.parse(text)

    assert CANARY not in str(caught.value)


def test_a_name_that_no_variable_has_is_refused() -> None:
    with pytest.raises(ValueError, match="letters, digits and _"):
        SecretRef.parse("${env:MY-KEY}")


@pytest.mark.parametrize(
    ("text", "reason"),
    [("${file:~nobody-of-this-name/key}", "home directory that is not known"), ("${file:a\0b}", "no path holds")],
)
def test_a_file_that_cannot_be_named_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        SecretRef.parse(text)


def test_it_resolves_a_variable() -> None:
    secret = SecretRef.parse("${env:KEY}").resolve({"KEY": f" {CANARY}\n"})

    assert secret.get_secret_value() == CANARY
    assert CANARY not in repr(secret)


def test_it_resolves_a_file_without_its_last_line_break(tmp_path: Path) -> None:
    (tmp_path / "key").write_text(f"{CANARY}\n")

    assert SecretRef.parse("${file:key}", tmp_path).resolve({}).get_secret_value() == CANARY


def test_it_reads_the_environment_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", CANARY)

    assert SecretRef("env", "A_KEY").resolve().get_secret_value() == CANARY


def test_a_resolved_value_is_known_to_the_redaction() -> None:
    SecretRef("env", "KEY").resolve({"KEY": "plain words as a key"})

    assert redact_known("sent: plain words as a key!") == "sent: [redacted]!"


def test_a_variable_that_is_not_set_is_named() -> None:
    with pytest.raises(SecretError, match=r"\$\{env:ACME\} is not set") as caught:
        SecretRef("env", "ACME").resolve({})

    assert caught.value.code == "secret_missing"
    assert caught.value.exit_code == 2
    assert caught.value.remedy == "Set the environment variable ACME."


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    path = tmp_path / "key"

    with pytest.raises(SecretError, match="cannot be read: No such file") as caught:
        SecretRef("file", str(path)).resolve({})

    assert str(path) in caught.value.message
    assert str(path) in caught.value.remedy


@pytest.mark.parametrize("value", ["", " \n"])
def test_an_empty_value_is_an_error(value: str) -> None:
    with pytest.raises(SecretError, match=r"\$\{env:KEY\} is empty"):
        SecretRef("env", "KEY").resolve({"KEY": value})


@pytest.mark.parametrize("value", [f"{CANARY}\nsecond", f"{CANARY}\r\nX-Injected: 1", f"{CANARY}\0", f"{CANARY}é"])
def test_a_value_that_no_header_can_carry_is_an_error_without_it(value: str) -> None:
    with pytest.raises(SecretError, match="a line break or another character") as caught:
        SecretRef("env", "KEY").resolve({"KEY": value})

    assert CANARY not in everything_about(caught.value)


def test_a_file_that_is_not_text_is_an_error_without_its_content(tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(CANARY.encode() + b"\xff\xfe")

    with pytest.raises(SecretError) as caught:
        SecretRef("file", str(tmp_path / "key")).resolve({})

    assert CANARY not in everything_about(caught.value)


def test_a_file_that_is_too_large_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(b"a" * (MAX_SECRET_BYTES + 1))

    with pytest.raises(SecretError, match="not a key"):
        SecretRef("file", str(tmp_path / "key")).resolve({})


def test_a_header_is_a_literal_or_a_reference_after_a_scheme() -> None:
    environ = {"KEY": CANARY}

    assert HeaderValue.parse("monitor").resolve(environ).get_secret_value() == "monitor"
    assert HeaderValue.parse("${env:KEY}").resolve(environ).get_secret_value() == CANARY
    assert HeaderValue.parse("Token ${env:KEY}").resolve(environ).get_secret_value() == f"Token {CANARY}"
    assert str(HeaderValue.parse("Token ${env:KEY}")) == "Token ${env:KEY}"


@pytest.mark.parametrize(
    "text", [f"{CANARY}\n", f"{CANARY}é", f"a {CANARY} ${{env:K}}", f"${{env:K}} {CANARY}", f"${{{CANARY}"]
)
def test_a_header_of_another_form_is_refused_without_being_quoted(text: str) -> None:
    with pytest.raises(ValueError, match=r"header cannot carry|stands alone|must be") as caught:
        HeaderValue.parse(text)

    assert CANARY not in str(caught.value)


@pytest.mark.parametrize(
    "name",
    ["Authorization", "api-key", "X-API-Key", "x_api_key", "X-Auth-Token", "Cookie", "Proxy-Authorization", "x-auth"],
)
def test_it_knows_headers_that_carry_credentials(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize("name", ["X-Title", "HTTP-Referer", "OpenAI-Organization", "Accept-Language", "X-Author"])
def test_it_knows_headers_that_do_not(name: str) -> None:
    assert not is_secret_name(name)

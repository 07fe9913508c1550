"""Redaction: no secret gets through, prose and references do."""

from __future__ import annotations

import io
import json
import logging
import string
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.redaction import KNOWN_SECRETS, REDACTED, KnownSecrets, RedactingFormatter, redact, safe_text

KEY = "Zq9canaryZq9canaryZq9"
# Without brackets, and not part of the replacement itself: otherwise "[redacted]" could hold one.
SECRETS = st.text(string.ascii_letters + string.digits + "-_.+*?$^(){}|\\/ é", min_size=6).filter(
    lambda s: s not in REDACTED
)


@given(st.lists(SECRETS, min_size=1, max_size=4), st.lists(st.text(), min_size=2, max_size=5))
def test_no_secret_survives(secrets: list[str], texts: list[str]) -> None:
    text = "".join(part + secrets[index % len(secrets)] for index, part in enumerate(texts))

    redacted = redact(text, secrets)

    assert not [secret for secret in secrets if secret in redacted]


# What the patterns hang on: separators, and the b of bearer and basic.
@given(st.text(st.characters(exclude_characters="bB=:&?@-_'\".")))
def test_text_that_holds_no_credential_is_left_alone(text: str) -> None:
    assert redact(text, ["a secret with @ in it"]) == text


FRAGMENTS = st.sampled_from(
    [
        "Authorization",
        "Bearer ",
        "api_key",
        "password",
        "sk-",
        "hf_",
        "eyJ",
        "://",
        "@",
        "?key",
        "=",
        ": ",
        "'",
        '"',
        "{",
        KEY,
    ]
)


@given(st.lists(FRAGMENTS | st.text(max_size=3), max_size=8).map("".join), st.lists(SECRETS, max_size=3))
def test_redacting_twice_is_redacting_once(text: str, secrets: list[str]) -> None:
    once = redact(text, secrets)

    assert redact(once, secrets) == once


def test_the_longer_of_two_secrets_goes_first() -> None:
    assert redact("abcdefgh", ["abcdef", "abcdefgh"]) == REDACTED


def test_a_placeholder_for_a_key_is_left() -> None:
    assert redact("reference: none", ["none"]) == "reference: none"


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer {key}",
        "authorization: bearer {key}",
        "Authorization: Basic {key}==",
        "Authorization={key}",
        "{{'authorization': 'Bearer {key}'}}",
        "[(b'Authorization', b'Bearer {key}')]",
        '{{"Authorization": "Bearer {key}"}}',
        "sent Bearer {key} to the host",
        "api_key={key}",
        "api-key={key}&x=1",
        "apikey='{key}'",
        "https://host/v1?key={key}&alt=sse",
        "X-Api-Key: {key}",
        '{{"x-api-key": "{key}"}}',
        '"OPENAI_API_KEY": "{key}"',
        "ACME_API_KEY={key}",
        "access_token={key}",
        "password: {key}",
        "the key sk-{key} is wrong",
        "the key sk-proj-{key} is wrong",
        "hf_{key}",
        "https://user:{key}@host/v1",
        "https://{key}@host/v1",
        "eyJ{key}.eyJ{key}.{key}",
    ],
)
def test_it_finds_credentials_it_was_not_told_of(text: str) -> None:
    redacted = redact(text.format(key=KEY))

    assert "canary" not in redacted
    assert REDACTED in redacted


@pytest.mark.parametrize(
    "text",
    [
        "providers[0].api_key: must be ${env:NAME} or ${file:PATH}",
        "api_key: ${env:ACME_API_KEY}",
        'api_key="${env:ACME_API_KEY}"',
        "Authorization: Bearer ${env:ACME_API_KEY}",
        "headers.Authorization: a literal value is refused",
        "prompt_tokens: 12, max_tokens=16, tokens=40",
        "a token: hello, the basic idea, the bearer of news",
        "risk-assessment, task-oriented, disk-space-left",
        "https://api.acme.ai/v1 answered 401",
        "user@example.com",
    ],
)
def test_it_leaves_prose_and_references_alone(text: str) -> None:
    assert redact(text) == text


def test_known_secrets_are_found_in_the_spellings_of_urls_and_json() -> None:
    secret = 'p@ss "word"/\\1'
    known = KnownSecrets()
    known.add(secret)

    for spelling in (secret, quote(secret, safe=""), json.dumps({"k": secret})):
        assert "word" not in redact(spelling, known)


def test_safe_text_removes_what_steers_a_terminal() -> None:
    assert safe_text("a\x1b[31mred\x07\r\x9b2J\u202egnp.exe\ud800\n\tb") == "a[31mred2Jgnp.exe\n\tb"


@given(st.text())
def test_safe_text_keeps_every_printable_character(text: str) -> None:
    assert [c for c in safe_text(text) if c.isprintable()] == [c for c in text if c.isprintable()]
    assert not [c for c in safe_text(text) if c < " " and c not in "\n\t"]


def chained() -> None:
    try:
        try:
            raise KeyError(f"inner api_key={KEY}")
        except KeyError as inner:
            raise ValueError(f"outer sk-{KEY}") from inner
    except ValueError as outer:
        raise RuntimeError("known-secret-of-this-test") from outer


def test_the_formatter_redacts_message_arguments_and_every_chained_cause() -> None:
    KNOWN_SECRETS.add("known-secret-of-this-test")
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(RedactingFormatter("%(message)s"))
    logger = logging.Logger("test", logging.INFO)
    logger.addHandler(handler)

    try:
        chained()
    except RuntimeError:
        logger.exception("asked %s with %r", "host", {"Authorization": f"Bearer {KEY}"}, stack_info=True)

    logged = stream.getvalue()
    assert "asked host" in logged
    assert "KeyError" in logged
    assert "canary" not in logged
    assert "known-secret" not in logged


def test_the_formatter_leaves_no_secret_on_the_record_for_other_handlers() -> None:
    record = logging.makeLogRecord({"msg": "m", "exc_info": (ValueError, ValueError(f"sk-{KEY}"), None)})

    RedactingFormatter().format(record)

    assert record.exc_text is not None
    assert "canary" not in record.exc_text

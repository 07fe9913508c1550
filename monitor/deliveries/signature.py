"""Signs and verifies messages as Standard Webhooks 1.0 says (https://www.standardwebhooks.com)."""

from __future__ import annotations

import base64
import binascii
import hmac
import secrets
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from standardwebhooks.webhooks import Webhook

from monitor.errors import UsageError

PREFIX = "whsec_"
TOLERANCE = timedelta(minutes=5)

ID, TIMESTAMP, SIGNATURE = "webhook-id", "webhook-timestamp", "webhook-signature"

# The specification's bounds for a symmetric key.
MIN_KEY_BYTES, MAX_KEY_BYTES = 24, 64


def new_secret() -> str:
    """A fresh secret, in the form in which both sides keep it."""
    return PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


def check_secret(secret: str) -> None:
    """Raises UsageError, which does not hold the secret, for one that is not of the form."""
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not secret.startswith(PREFIX) or not MIN_KEY_BYTES <= len(key) <= MAX_KEY_BYTES:
        raise UsageError(
            "A webhook secret is not of the form whsec_BASE64, of 24 to 64 bytes.",
            remedy="`monitor webhook secret` makes one.",
        )


def signed_headers(message_id: str, body: bytes, secrets_in_use: Sequence[str], at: datetime) -> dict[str, str]:
    """The three headers of one try at `at`; a signature for each secret, the current one first."""
    whole = _whole_second(at)
    signatures = [Webhook(secret).sign(message_id, whole, body.decode()) for secret in secrets_in_use]
    headers = {ID: message_id, TIMESTAMP: str(int(whole.timestamp()))}
    return headers | ({SIGNATURE: " ".join(signatures)} if signatures else {})


def mismatch(
    headers: Mapping[str, str], body: bytes, secrets_in_use: Sequence[str], now: datetime | None
) -> str | None:
    """Why a message is not to be trusted, or None where it is. `now` None leaves its age unjudged."""
    named = {name.lower(): value.strip() for name, value in headers.items()}
    missing = [name for name in (ID, TIMESTAMP, SIGNATURE) if not named.get(name)]
    if missing:
        return f"there is no {missing[0]} header"
    if not named[TIMESTAMP].isdecimal() or len(named[TIMESTAMP]) > 10:
        return f"{TIMESTAMP} is not a number of seconds since 1970"
    sent = datetime.fromtimestamp(int(named[TIMESTAMP]), UTC)
    if now is not None and abs(now - sent) > TOLERANCE:
        return f"{TIMESTAMP} is more than {TOLERANCE.seconds // 60} minutes away from now"
    if not _is_signed(named, sent, body, secrets_in_use):
        return "no signature matches the body: it was altered, or signed with another secret"
    return None


def _is_signed(named: Mapping[str, str], sent: datetime, body: bytes, secrets_in_use: Sequence[str]) -> bool:
    try:
        text = body.decode()
    except UnicodeDecodeError:  # what is signed is text
        return False
    given = [signature.encode() for signature in named[SIGNATURE].split()]
    expected = [Webhook(secret).sign(named[ID], sent, text).encode() for secret in secrets_in_use]
    return any(hmac.compare_digest(one, other) for one in expected for other in given)


def _whole_second(at: datetime) -> datetime:
    return at.astimezone(UTC).replace(microsecond=0)

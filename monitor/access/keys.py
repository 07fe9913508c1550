"""What the service signs for itself: cursors, form tokens, the set-up link. One key per installation."""

from __future__ import annotations

from typing import Any, Literal

from itsdangerous import BadData, BadSignature, URLSafeSerializer, URLSafeTimedSerializer

from monitor.datadir import DataDir
from monitor.errors import MalformedRequestError, SecretError
from monitor.secrets import SecretRef
from monitor.settings import PREFIX, Settings

CSRF_SECONDS = 24 * 3600
SET_UP_SECONDS = 24 * 3600
SHORTEST_KEY = 32


class SigningKey:
    """Signs texts for one purpose each; a text signed for one is worth nothing for another."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    @classmethod
    def of(cls, settings: Settings, data: DataDir) -> SigningKey:
        """MONITOR_SECRET_KEY or the file MONITOR_SECRET_KEY_FILE names, which several `monitor web` share; else the
        one in the data directory. Raises SecretError or StorageError."""
        if settings.secret_key is not None:
            return cls(_resolved("env", f"{PREFIX}SECRET_KEY"))
        if settings.secret_key_file is not None:
            return cls(_resolved("file", str(settings.secret_key_file)))
        return cls(data.signing_key())

    def cursor(self, of: str, content: Any) -> str:
        """`of` says which list it goes on with."""
        return _text(URLSafeSerializer(self._key, salt=f"cursor of {of}").dumps(content))

    def read_cursor(self, of: str, text: str) -> Any:
        """Raises MalformedRequestError for a text that `cursor` did not make, or made for another list."""
        try:
            return URLSafeSerializer(self._key, salt=f"cursor of {of}").loads(text)
        except BadData:
            raise MalformedRequestError(
                "The cursor was not given by this service, or belongs to another list.",
                remedy="Send it as it came, with the address, sort and filters it came from.",
            ) from None

    def csrf_token(self, session: str) -> str:
        """For the forms of one session (the digest of its id)."""
        return _text(URLSafeTimedSerializer(self._key, salt="csrf").dumps(session))

    def csrf_valid(self, text: str, session: str) -> bool:
        try:
            return bool(URLSafeTimedSerializer(self._key, salt="csrf").loads(text, max_age=CSRF_SECONDS) == session)
        except BadSignature:
            return False

    def set_up_token(self) -> str:
        """Lets its bearer create the first user, within a day and as long as there is none."""
        return _text(URLSafeTimedSerializer(self._key, salt="set-up").dumps("first user"))

    def set_up_valid(self, text: str) -> bool:
        try:
            URLSafeTimedSerializer(self._key, salt="set-up").loads(text, max_age=SET_UP_SECONDS)
        except BadSignature:
            return False
        return True


def _resolved(kind: Literal["env", "file"], name: str) -> bytes:
    key = SecretRef(kind, name).resolve().get_secret_value()
    if len(key) < SHORTEST_KEY:
        raise SecretError(
            f"The signing key has {len(key)} characters; it could be guessed.",
            remedy=f"Give at least {SHORTEST_KEY} random ones, such as `openssl rand -hex 32` prints.",
        )
    return key.encode()


def _text(signed: str | bytes) -> str:
    return signed.decode() if isinstance(signed, bytes) else signed

"""References to secrets, and the one place that turns a reference into its value."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import SecretStr

from monitor.errors import SecretError
from monitor.redaction import KNOWN_SECRETS

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_SECRET_BYTES = 64 * 1024

_REFERENCE = re.compile(r"\$\{(env|file):([^{}]+)\}")
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HEADER_REFERENCE = re.compile(r"(?:([A-Za-z][A-Za-z0-9-]*) )?(\$\{[^{}]*\})")
_SECRET_WORDS = ("authorization", "apikey", "token", "cookie", "secret", "password", "credential")


@dataclass(frozen=True, slots=True)
class SecretRef:
    """Where a secret is kept: an environment variable, or a file that holds nothing else."""

    kind: Literal["env", "file"]
    name: str

    @classmethod
    def parse(cls, text: str, directory: Path = Path()) -> SecretRef:
        """Read `${env:NAME}` or `${file:PATH}` (a relative PATH counts from `directory`).

        Raises ValueError, which never holds `text`: it may be a literal key.
        """
        match = _REFERENCE.fullmatch(text.strip())
        if match is None:
            raise ValueError("must be ${env:NAME} or ${file:PATH}: a key written into the file is refused")
        kind, name = match.groups()
        if kind == "file":
            return cls("file", str(directory / _expanded(name)))
        if _ENV_NAME.fullmatch(name) is None:
            raise ValueError("${env:NAME} needs the name of an environment variable: letters, digits and _")
        return cls("env", name)

    def resolve(self, environ: Mapping[str, str] | None = None) -> SecretStr:
        """The secret's value, from then on known to the redaction; SecretError names the reference, never the value."""
        raw = self._read(os.environ if environ is None else environ)
        value = raw.strip()
        if not value:
            raise SecretError(f"{self} is empty.", remedy=self._remedy())
        if not (value.isascii() and value.isprintable()):
            raise SecretError(
                f"{self} holds a line break or another character that an HTTP header cannot carry.",
                remedy="Store the key alone, on one line.",
            )
        KNOWN_SECRETS.add(value)
        return SecretStr(value)

    def _read(self, environ: Mapping[str, str]) -> str:
        if self.kind == "file":
            return self._read_file()
        if self.name not in environ:
            raise SecretError(f"{self} is not set.", remedy=self._remedy())
        return environ[self.name]

    def _read_file(self) -> str:
        try:
            with Path(self.name).open("rb") as file:
                raw = file.read(MAX_SECRET_BYTES + 1)
        except OSError as error:
            raise SecretError(f"{self} cannot be read: {error.strerror}.", remedy=self._remedy()) from error
        if len(raw) > MAX_SECRET_BYTES:
            raise SecretError(f"{self} holds more than {MAX_SECRET_BYTES} bytes: not a key.", remedy=self._remedy())
        # Bytes that are not UTF-8 become U+FFFD, which the check of characters then refuses.
        return raw.decode("utf-8", errors="replace")

    def _remedy(self) -> str:
        if self.kind == "env":
            return f"Set the environment variable {self.name}."
        return f"Write the key into {self.name}."

    def __str__(self) -> str:
        return f"${{{self.kind}:{self.name}}}"


def _expanded(name: str) -> Path:
    if not name.isprintable():
        raise ValueError("${file:PATH} holds a character that no path holds")
    try:
        return Path(name).expanduser()
    except RuntimeError:
        raise ValueError("${file:PATH} names a home directory that is not known") from None


@dataclass(frozen=True, slots=True)
class HeaderValue:
    """A header's value: literal text, or a reference with an optional scheme word before it (`Bearer ${env:KEY}`)."""

    literal: str = ""
    reference: SecretRef | None = None

    @classmethod
    def parse(cls, text: str, directory: Path = Path()) -> HeaderValue:
        """Raises ValueError, which never holds `text`."""
        if "${" not in text:
            if not (text.isascii() and text.isprintable()):
                raise ValueError("holds a character that an HTTP header cannot carry")
            return cls(literal=text.strip())
        match = _HEADER_REFERENCE.fullmatch(text.strip())
        if match is None:
            raise ValueError("a reference stands alone or after one scheme word, such as Bearer ${env:NAME}")
        scheme, reference = match.groups()
        return cls(literal=scheme or "", reference=SecretRef.parse(reference, directory))

    def resolve(self, environ: Mapping[str, str] | None = None) -> SecretStr:
        if self.reference is None:
            return SecretStr(self.literal)
        return SecretStr(f"{self.literal} {self.reference.resolve(environ).get_secret_value()}".strip())

    def __str__(self) -> str:
        return self.literal if self.reference is None else f"{self.literal} {self.reference}".strip()


def is_secret_name(name: str) -> bool:
    """Whether a header of this name carries a credential: Authorization, *api-key*, *token*, Cookie and their like."""
    plain = name.lower().replace("-", "").replace("_", "")
    return plain.endswith("auth") or any(word in plain for word in _SECRET_WORDS)

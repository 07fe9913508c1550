"""The address of a channel: written out where it is no secret, a reference where it is one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

from pydantic import SecretStr

from monitor.config.base_url import split_url
from monitor.secrets import SecretRef, is_secret_name

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from urllib.parse import SplitResult

SCHEMES = ("http", "https")

# There the path is the credential: whoever knows it may post.
_SECRET_HOSTS = ("hooks.slack.com", "discord.com", "discordapp.com", "webhook.office.com", "logic.azure.com")


@dataclass(frozen=True, slots=True)
class PrivateUrl:
    """A URL, or where it is kept. As text it shows the reference, never what that holds."""

    literal: str = ""
    reference: SecretRef | None = None

    @classmethod
    def parse(cls, text: str, directory: Path) -> PrivateUrl:
        """Raises ValueError, which never holds `text`."""
        if "${" in text:
            return cls(reference=SecretRef.parse(text, directory))
        parts = split_url(text)
        if parts.scheme not in SCHEMES or not parts.hostname:
            raise ValueError("must be https://HOST/PATH, or ${env:NAME} or ${file:PATH} for an address that is secret")
        if _is_secret(parts):
            raise ValueError("holds a credential: write ${env:NAME} or ${file:PATH}; a literal value is refused")
        return cls(literal=text)

    def resolve(self, environ: Mapping[str, str] | None = None) -> SecretStr:
        """The URL. Raises SecretError for a reference that leads nowhere."""
        return SecretStr(self.literal) if self.reference is None else self.reference.resolve(environ)

    def __str__(self) -> str:
        return self.literal if self.reference is None else str(self.reference)


def _is_secret(parts: SplitResult) -> bool:
    host = parts.hostname or ""
    return (
        "@" in parts.netloc
        or any(f".{host}".endswith(f".{known}") for known in _SECRET_HOSTS)
        or any(is_secret_name(name) or name in ("key", "sig") for name, _ in parse_qsl(parts.query))
    )


def is_web_address(url: str) -> bool:
    """Whether a webhook can be sent there, as far as the text tells."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in SCHEMES and bool(parts.hostname)

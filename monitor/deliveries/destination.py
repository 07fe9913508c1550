"""A channel with its references turned into values, for one try."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import SecretStr

from monitor.deliveries.signature import check_secret
from monitor.errors import ConfigError

if TYPE_CHECKING:
    from monitor.config.service import Channel


@dataclass(frozen=True, slots=True)
class Destination:
    """`secrets`: the current one first, then the one that is being rotated out."""

    channel: str
    kind: str
    url: SecretStr
    secrets: tuple[SecretStr, ...] = ()
    allow_private: bool = False


def resolve_destination(channel: Channel, environ: Mapping[str, str] | None = None) -> Destination:
    """Raises SecretError for a reference that leads nowhere, ConfigError for an Apprise URL that is no reference, and
    UsageError for a secret of another form."""
    if channel.kind == "apprise" and channel.url.reference is None:
        raise ConfigError(
            f"The channel {channel.id} is of kind apprise and its url is written out.",
            remedy="Such a URL holds credentials: give it as ${env:NAME} or ${file:PATH}.",
        )
    given = [ref.resolve(environ) for ref in (channel.secret, channel.previous_secret) if ref is not None]
    for secret in given:
        check_secret(secret.get_secret_value())
    return Destination(channel.id, channel.kind, channel.url.resolve(environ), tuple(given), channel.allow_private)


def format_of(channel: Channel) -> str:
    """The format of a channel's messages; Apprise takes plain text and makes of it what each service wants."""
    return "text" if channel.kind == "apprise" else channel.format

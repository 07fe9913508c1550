"""What a provider's base_url must look like, before anything is looked up or connected to."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from probes.address import forbidden_origin, policy_for

if TYPE_CHECKING:
    from urllib.parse import SplitResult

    from probes.address import Forbidden

SCHEMES = ("http", "https")

# The one query that is taken, which Azure wants. It is shown and stored: what looks like a key is none.
_API_VERSION = re.compile(r"api-version=[a-z0-9.-]{1,24}")


def check_base_url(url: str) -> str:
    """The URL without a slash at its end. Raises ValueError without the URL, which may hold a password."""
    parts = split_url(url)
    if "@" in parts.netloc:
        raise ValueError("holds a user name or password; remove them and use api_key: ${env:NAME}")
    if "#" in url or ("?" in url and not _API_VERSION.fullmatch(parts.query)):
        raise ValueError(
            "must have no fragment and no query but an api-version, such as ?api-version=2024-10-21; "
            "parameters go into headers or extra_body"
        )
    if parts.scheme not in SCHEMES or not parts.hostname:
        raise ValueError("must be http(s)://HOST/PATH, such as https://api.example.com/v1")
    if parts.path.rstrip("/").endswith("/completions"):
        raise ValueError("must end before /chat/completions or /completions: the client adds them")
    return url.rstrip("/")


def forbidden_base_url(url: str, *, allow_private: bool) -> Forbidden | None:
    """Why a well-formed base URL may not be asked, as far as its text tells; a name's addresses are judged later."""
    parts = urlsplit(url)
    return forbidden_origin(
        policy_for(allow_private), scheme=parts.scheme, userinfo="", host=parts.hostname or "", port=parts.port
    )


def base_url_hint(url: str) -> str | None:
    """What is allowed but seldom meant."""
    if urlsplit(url).path.strip("/"):
        return None
    return "has no path; most OpenAI-compatible servers answer under /v1"


def split_url(url: str) -> SplitResult:
    """Raises ValueError for what no client should ask, without the URL."""
    # urlsplit removes line breaks silently, and browsers and servers differ on backslashes.
    if not (url.isascii() and url.isprintable()) or " " in url or "\\" in url:
        raise ValueError("holds a character that a URL cannot hold")
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        parts = None
    # Raised outside the handler: urllib's own text, which quotes the URL, must not become its context.
    if parts is None:
        raise ValueError("has an impossible host or port")
    return parts

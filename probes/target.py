"""Where a provider is asked and how: one frozen `Target`, whose repr shows no secret."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from probes.address import AddressPolicy, policy_for
from probes.completion import Endpoint
from probes.errors import ProviderAuthError, ProviderProtocolError
from probes.redaction import Redactor

# Parameters of a base URL that say which API is meant and hold no secret, as Azure's does.
_PLAIN_PARAMETERS = frozenset({"api-version"})
# What httpx itself says: traffic that looks like anyone's.
USER_AGENT = "python-httpx/0.28.1"


@dataclass(frozen=True, slots=True)
class Target:
    """One endpoint. `extra_body` is merged into every request as it stands, routing pin included.

    `timeout_s` limits one attempt from connecting to the last byte; `idle_timeout_s` the time, once headers came, in
    which nothing but keep-alives arrives. `rpm` is requests per minute, None for no limit.
    """

    base_url: str = field(repr=False)
    served_name: str
    api_key: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    extra_body: Mapping[str, Any] = field(default_factory=dict, repr=False)
    allow_private: bool = False
    max_concurrency: int = 4
    rpm: int | None = None
    timeout_s: float = 60.0
    idle_timeout_s: float = 30.0
    max_body_bytes: int = 8 * 1024 * 1024
    user_agent: str = USER_AGENT

    @property
    def policy(self) -> AddressPolicy:
        return policy_for(self.allow_private)

    @property
    def place(self) -> str:
        """Host and port, the only part of the URL that is ever shown."""
        return urlsplit(self.base_url).netloc.rpartition("@")[2]

    def url(self, path: Endpoint | str) -> str:
        """The URL of an OpenAI path such as /v1/models: the base URL stands for /v1, and keeps its query."""
        parts = urlsplit(self.base_url)
        joined = parts.path.rstrip("/") + path.removeprefix("/v1")
        return urlunsplit((parts.scheme, parts.netloc, joined, parts.query, ""))

    def request_headers(self) -> dict[str, str]:
        """The headers of every request; a configured one replaces ours of the same name.

        Raises ProviderAuthError where the key, ProviderProtocolError where a configured header cannot be sent.
        """
        ours = {"User-Agent": self.user_agent}
        if self.api_key:
            if not _is_header_value(self.api_key):
                raise ProviderAuthError(
                    f"The API key for {self.place} holds a space at an end, a line break or a character outside ASCII.",
                    remedy="Store the key alone, without a final line break.",
                )
            ours["Authorization"] = f"Bearer {self.api_key}"
        for name, value in self.headers.items():
            if not _is_header_value(value) or not _is_header_name(name):
                raise ProviderProtocolError(
                    f"The header {name!r} configured for {self.place} cannot be sent.",
                    remedy="Use printable ASCII only in the provider's `headers`.",
                )
        replaced = {name.lower() for name in self.headers}
        return {name: value for name, value in ours.items() if name.lower() not in replaced} | dict(self.headers)

    def redactor(self) -> Redactor:
        """Knows the key, the values of the extra headers, and those of the base URL's query but for its API version."""
        key = [self.api_key] if self.api_key else []
        # "Bearer KEY": a server may quote the key without its scheme.
        words = [value.rpartition(" ")[2] for value in self.headers.values()]
        query = [value for name, value in parse_qsl(urlsplit(self.base_url).query) if name not in _PLAIN_PARAMETERS]
        return Redactor.of([*key, *self.headers.values(), *words, *query])


def _is_header_value(text: str) -> bool:
    return text == text.strip() and text.isascii() and text.isprintable()


def _is_header_name(text: str) -> bool:
    return bool(text) and text.isascii() and text.replace("-", "").replace("_", "").isalnum()

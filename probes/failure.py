"""Why one attempt brought no usable answer: a kind the retry plan acts on, and the error a user is shown."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from probes.errors import (
    ProbeError,
    ProviderAuthError,
    ProviderProtocolError,
    ProviderQuotaError,
    ProviderRejectedError,
)

CHECK_BASE_URL = "Check base_url: it should end where /chat/completions is appended, often in /v1."


class FailureKind(StrEnum):
    DNS = "dns"
    REFUSED = "refused"
    UNREACHABLE = "unreachable"
    TLS = "tls"
    TIMEOUT = "timeout"
    RESET = "reset"
    SERVER = "server"
    RATE_LIMITED = "rate_limited"
    QUOTA = "quota"
    AUTH = "auth"
    NOT_FOUND = "not_found"
    REJECTED = "rejected"
    PROTOCOL = "protocol"


_ERRORS: dict[FailureKind, type[ProbeError]] = {
    FailureKind.RATE_LIMITED: ProviderQuotaError,
    FailureKind.QUOTA: ProviderQuotaError,
    FailureKind.AUTH: ProviderAuthError,
    FailureKind.NOT_FOUND: ProviderRejectedError,
    FailureKind.REJECTED: ProviderRejectedError,
    FailureKind.PROTOCOL: ProviderProtocolError,
}


@dataclass(frozen=True, slots=True)
class Failure:
    """`message` names the host and what it did; both texts are free of keys and prompts."""

    kind: FailureKind
    message: str
    remedy: str = ""

    def error(self) -> ProbeError:
        return _ERRORS.get(self.kind, ProbeError)(self.message, remedy=self.remedy)

    @property
    def code(self) -> str:
        return _ERRORS.get(self.kind, ProbeError).code

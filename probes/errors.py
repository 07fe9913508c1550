"""The probes' branch of the error tree: the provider cannot be asked, or does not answer as one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_engine.errors import CodedError

if TYPE_CHECKING:
    from probes.plan import Sample


class ProbeError(CodedError):
    """`samples` are those that were done when the error ended their plan, in the plan's order."""

    code = "provider_unreachable"
    status = 502
    exit_code = 5
    samples: tuple[Sample, ...] = ()


class AddressForbiddenError(ProbeError):
    code = "address_forbidden"
    status = 400
    exit_code = 2


class ProviderAuthError(ProbeError):
    code = "provider_auth"


class ProviderQuotaError(ProbeError):
    code = "provider_quota"
    status = 429


class ProviderProtocolError(ProbeError):
    """The endpoint answers, but not as an OpenAI-compatible API: HTML, a stream without end, too large a body."""

    code = "provider_protocol"


class ProviderRejectedError(ProbeError):
    """The endpoint refuses the request (4xx) and naming no parameter that could be changed: an unknown model, say."""

    code = "provider_rejected"


class ReplayFileError(CodedError):
    code = "replay_file_invalid"
    status = 400
    exit_code = 2


class SuiteFileError(CodedError):
    """A file of eval items that cannot be read as one. The message names the line, never what is in it."""

    code = "suite_file_invalid"
    status = 400
    exit_code = 2


class IsolationError(CodedError):
    """Code of an answer would have to be run, and this machine cannot isolate it: it was not run."""

    code = "isolation_unavailable"
    status = 503
    exit_code = 6

"""The service's branch of the error tree: usage, configuration, storage, and what the API refuses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reference_engine.errors import CodedError


class MonitorError(CodedError):
    """Root of the service's own errors."""


class UsageError(MonitorError):
    code = "usage"
    status = 400
    exit_code = 2


class ConfigError(MonitorError):
    code = "config_invalid"
    status = 422
    exit_code = 2


class SecretError(ConfigError):
    code = "secret_missing"


class StorageError(MonitorError):
    code = "database_unavailable"
    status = 503
    exit_code = 6


class SchemaVersionError(StorageError):
    code = "schema_version"


class StateVersionError(StorageError):
    """What a stream came to is stored in another form than this program's: it is to be computed anew from evidence."""

    code = "stream_state_version"


class ReplayDiffersError(StorageError):
    """What a stream came to is not what its stored evidence gives."""

    code = "replay_differs"


class SuiteUnreadableError(StorageError):
    """A private eval set cannot be opened: the key is another one, or what is stored is not what was sealed."""

    code = "suite_unreadable"


class EvidenceFileError(MonitorError):
    """What was given as a bundle of evidence is none, or is not safe to read."""

    code = "evidence_invalid"
    status = 422
    exit_code = 2


class BudgetError(MonitorError):
    code = "budget_exhausted"
    status = 429
    exit_code = 4


class LeaseLostError(MonitorError):
    """A check is no longer its owner's: what the owner was about to write is not written."""

    code = "lease_lost"
    status = 409
    exit_code = 6


class EvidenceRefusedError(MonitorError):
    """Evidence that cannot be added to an endpoint's streams as they are: no epoch is open, or not for it."""

    code = "evidence_refused"
    status = 409
    exit_code = 2


class AlreadyRunningError(MonitorError):
    """Another process holds the data directory."""

    code = "already_running"
    status = 409
    exit_code = 2


class UnsafeDeploymentError(MonitorError):
    """A mix of database, broker and hosts under which checks would be lost or doubled."""

    code = "deployment_unsafe"
    status = 400
    exit_code = 2


class ServiceFailedError(MonitorError):
    """A process of the service cannot be kept running."""

    code = "service_failed"
    status = 503


class NotReadyError(MonitorError):
    """The service runs, but does not do its work."""

    code = "not_ready"
    status = 503
    exit_code = 6


class RequestError(MonitorError):
    """A request that the API refuses. `headers` go with the answer; `findings` say what is wrong where."""

    code = "request_invalid"
    status = 422
    exit_code = 2

    def __init__(
        self,
        message: str,
        *,
        remedy: str = "",
        headers: Mapping[str, str] | None = None,
        findings: Sequence[Finding] = (),
    ) -> None:
        super().__init__(message, remedy=remedy)
        self.headers = dict(headers or {})
        self.findings = tuple(findings)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing wrong with a request: where (a JSON pointer that begins with /body, /query, /path or /header), a code
    and a sentence. Never the value."""

    pointer: str
    code: str
    detail: str


class MalformedRequestError(RequestError):
    code = "request_malformed"
    status = 400


class UnauthorizedError(RequestError):
    code = "unauthorized"
    status = 401


class ForbiddenError(RequestError):
    code = "forbidden"
    status = 403


class NotFoundError(RequestError):
    code = "not_found"
    status = 404


class MethodNotAllowedError(RequestError):
    code = "method_not_allowed"
    status = 405


class ConflictError(RequestError):
    code = "conflict"
    status = 409


class ManagedByFileError(ConflictError):
    code = "managed_by_file"


class RequestInProgressError(RequestError):
    code = "request_in_progress"
    status = 409


class PreconditionFailedError(RequestError):
    code = "precondition_failed"
    status = 412


class RequestTooLargeError(RequestError):
    code = "request_too_large"
    status = 413


class HostForbiddenError(RequestError):
    code = "host_forbidden"
    status = 421


class IdempotencyKeyReusedError(RequestError):
    code = "idempotency_key_reused"
    status = 422


class PreconditionRequiredError(RequestError):
    code = "precondition_required"
    status = 428


class TooManyAttemptsError(RequestError):
    code = "too_many_attempts"
    status = 429


class BindRefusedError(MonitorError):
    code = "bind_refused"
    status = 400
    exit_code = 2


class OfflineError(MonitorError):
    """Nothing can be reached from here: what failed says nothing of any provider."""

    code = "offline"
    status = 503
    exit_code = 5

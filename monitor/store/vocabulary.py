"""The closed vocabularies of the database: every enum column holds one of these words, guarded by a CHECK."""

from enum import StrEnum


class Trigger(StrEnum):
    """Who asked for a run."""

    SCHEDULE = "schedule"
    CLI = "cli"
    API = "api"
    CI = "ci"
    CONFIRM = "confirm"


class RunStatus(StrEnum):
    QUEUED = "queued"
    LEASED = "leased"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    PARTIAL = "partial"
    FAILED = "failed"
    EXPIRED = "expired"
    CANCELLED = "cancelled"

    @property
    def finished(self) -> bool:
        return self not in (RunStatus.QUEUED, RunStatus.LEASED, RunStatus.RUNNING)


class BaselineStatus(StrEnum):
    ACTIVE = "active"
    CLOSED = "closed"


class BaselineRole(StrEnum):
    """How a run came into a baseline: it opened it, or it was found unchanged and joined."""

    ENROLMENT = "enrolment"
    ACCEPTED = "accepted"


class ChangeKind(StrEnum):
    """What changed: the served stack's own fingerprint, our configuration, a baseline, what the provider announced,
    our engine, or the reference an endpoint is compared with."""

    FINGERPRINT = "fingerprint"
    CONFIG = "config"
    BASELINE = "baseline"
    PROVIDER_NOTICE = "provider_notice"
    ENGINE = "engine"
    REFERENCE = "reference"

"""The closed vocabularies of the database: every enum column holds one of these words, guarded by a CHECK."""

from enum import StrEnum

from monitor.alerts.states import AlertState as AlertState
from monitor.alerts.states import Severity as Severity


class Trigger(StrEnum):
    """Who asked for a run."""

    SCHEDULE = "schedule"
    CLI = "cli"
    API = "api"
    CI = "ci"
    CONFIRM = "confirm"
    ESCALATE = "escalate"  # the streams suspect, and ask on answers of their own


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


class DeliveryStatus(StrEnum):
    """`failed`: every try was used up; `cancelled`: something newer said it all, or its channel is gone."""

    PENDING = "pending"
    LEASED = "leased"
    DELIVERED = "delivered"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def finished(self) -> bool:
        return self not in (DeliveryStatus.PENDING, DeliveryStatus.LEASED)


class ManagedBy(StrEnum):
    """Who owns an object of the configuration: the file, or the API."""

    FILE = "file"
    API = "api"


class ConfigKind(StrEnum):
    """The kinds of objects a configuration holds, by the key of the file that lists them."""

    DEFAULTS = "defaults"
    MODEL = "model"
    PROVIDER = "provider"
    SCHEDULE = "schedule"
    RULE = "rule"
    CHANNEL = "channel"
    ROUTE = "route"
    MAINTENANCE = "maintenance"
    RETENTION = "retention"


class Bucket(StrEnum):
    """The width of a rollup: an hour or a day, in UTC."""

    HOUR = "hour"
    DAY = "day"


class Role(StrEnum):
    """What a user may do: look; run, acknowledge and silence; everything."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"


class BaselineStatus(StrEnum):
    ACTIVE = "active"
    CLOSED = "closed"


class BaselineRole(StrEnum):
    """How a run came into a baseline: it opened it, or it was found unchanged and joined."""

    ENROLMENT = "enrolment"
    ACCEPTED = "accepted"


class ChangeKind(StrEnum):
    """What changed: the served stack's own fingerprint, our configuration, a baseline, what the provider announced,
    our engine, the reference an endpoint is compared with, or how its serving stack writes."""

    FINGERPRINT = "fingerprint"
    CONFIG = "config"
    BASELINE = "baseline"
    PROVIDER_NOTICE = "provider_notice"
    ENGINE = "engine"
    REFERENCE = "reference"
    STACK = "stack"


class EpochEnd(StrEnum):
    """Why an epoch of an endpoint's streams was closed: its time was over, our engine or a detector changed, a person
    accepted what the endpoint is now, other streams are to be watched, or what came since a drift has settled."""

    EXPIRED = "expired"
    OUR_STACK = "our_stack"
    ACCEPTED = "accepted"
    REPLANNED = "replanned"
    SETTLED = "settled"


class LookKind(StrEnum):
    """What was done at a look: it was looked, or the open escalation was closed."""

    LOOKED = "looked"
    CLOSED = "closed"


class StreamTier(StrEnum):
    """`monitor.drift.evidence.Tier`, for processes that do no statistics."""

    PROTOCOL = "T0"
    LOGPROBS = "T1"
    BORDER = "T2"
    GREEDY = "T3"
    SAMPLING = "T4"
    DISTRIBUTION = "T5"
    CAPABILITY = "T6"


class StreamLevel(StrEnum):
    """`monitor.drift.decision.Level` by its name, for the same."""

    QUIET = "quiet"
    SHOWN = "shown"
    SUSPECT = "suspect"
    DRIFT = "drift"

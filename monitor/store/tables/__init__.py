"""The tables, each with the queries it must serve in mind (SERVICE.md 3.4)."""

from monitor.store.tables.access import (
    ApiToken,
    AuditEntry,
    ConfigObject,
    IdempotentAnswer,
    User,
    UserSession,
)
from monitor.store.tables.alerts import Alert, AlertEvent, ServiceEvent, Silence
from monitor.store.tables.catalog import Endpoint, Model, Provider, Reference
from monitor.store.tables.deliveries import ChannelHealth, Delivery, DeliveryAttempt, NotifyGroup
from monitor.store.tables.findings import (
    Baseline,
    BaselineRun,
    ChangeEvent,
    Evidence,
    MetricPoint,
    MetricRollup,
    StandingEvidence,
)
from monitor.store.tables.ledger import Observation, Run, Sample, SampleBody
from monitor.store.tables.metadata import Table
from monitor.store.tables.queue import EndpointCheck, Reservation, Setting, Spending, TokenBucket, WorkerBeat
from monitor.store.tables.streams import (
    EndpointEpoch,
    EndpointLook,
    Enrolment,
    Stream,
    StreamEpoch,
    StreamEvidence,
    StreamState,
)
from monitor.store.tables.suites import Suite, SuiteChunk, SuiteVersion

__all__ = [
    "Alert",
    "AlertEvent",
    "ApiToken",
    "AuditEntry",
    "Baseline",
    "BaselineRun",
    "ChangeEvent",
    "ChannelHealth",
    "ConfigObject",
    "Delivery",
    "DeliveryAttempt",
    "Endpoint",
    "EndpointCheck",
    "EndpointEpoch",
    "EndpointLook",
    "Enrolment",
    "Evidence",
    "IdempotentAnswer",
    "MetricPoint",
    "MetricRollup",
    "Model",
    "NotifyGroup",
    "Observation",
    "Provider",
    "Reference",
    "Reservation",
    "Run",
    "Sample",
    "SampleBody",
    "ServiceEvent",
    "Setting",
    "Silence",
    "Spending",
    "StandingEvidence",
    "Stream",
    "StreamEpoch",
    "StreamEvidence",
    "StreamState",
    "Suite",
    "SuiteChunk",
    "SuiteVersion",
    "Table",
    "TokenBucket",
    "User",
    "UserSession",
    "WorkerBeat",
]

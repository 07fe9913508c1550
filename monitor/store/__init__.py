"""Storage: `Store` in front of the tables, and the values that go in and come out."""

from __future__ import annotations

from monitor.store.bodies import Answer, Exchange
from monitor.store.ids import new_id
from monitor.store.records import (
    BaselineMember,
    BaselineRecord,
    CheckRecord,
    CheckRun,
    EndpointIdentity,
    EndpointRecord,
    Enrol,
    EvidenceRecord,
    Join,
    MetricPoint,
    ReferenceIdentity,
    RunObservations,
    RunRecord,
    RunResult,
    RunStart,
)
from monitor.store.store import Store
from monitor.store.vocabulary import BaselineRole, BaselineStatus, ChangeKind, RunStatus, Trigger

__all__ = [
    "Answer",
    "BaselineMember",
    "BaselineRecord",
    "BaselineRole",
    "BaselineStatus",
    "ChangeKind",
    "CheckRecord",
    "CheckRun",
    "EndpointIdentity",
    "EndpointRecord",
    "Enrol",
    "EvidenceRecord",
    "Exchange",
    "Join",
    "MetricPoint",
    "ReferenceIdentity",
    "RunObservations",
    "RunRecord",
    "RunResult",
    "RunStart",
    "RunStatus",
    "Store",
    "Trigger",
    "new_id",
]

"""Storage: `Store` in front of the tables, and the values that go in and come out."""

from __future__ import annotations

from monitor.store.beats import Beats
from monitor.store.bodies import Answer, Exchange
from monitor.store.entries import Backlog, Beat, CheckEntry, CheckRequest, Claimed, Lease, Swept
from monitor.store.ids import new_id
from monitor.store.limits import Limits
from monitor.store.queue import Queue
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
    ResumedRun,
    RunObservations,
    RunRecord,
    RunResult,
    RunStart,
    StoredSample,
)
from monitor.store.store import Store
from monitor.store.vocabulary import BaselineRole, BaselineStatus, ChangeKind, RunStatus, Trigger

__all__ = [
    "Answer",
    "Backlog",
    "BaselineMember",
    "BaselineRecord",
    "BaselineRole",
    "BaselineStatus",
    "Beat",
    "Beats",
    "ChangeKind",
    "CheckEntry",
    "CheckRecord",
    "CheckRequest",
    "CheckRun",
    "Claimed",
    "EndpointIdentity",
    "EndpointRecord",
    "Enrol",
    "EvidenceRecord",
    "Exchange",
    "Join",
    "Lease",
    "Limits",
    "MetricPoint",
    "Queue",
    "ReferenceIdentity",
    "ResumedRun",
    "RunObservations",
    "RunRecord",
    "RunResult",
    "RunStart",
    "RunStatus",
    "Store",
    "StoredSample",
    "Swept",
    "Trigger",
    "new_id",
]

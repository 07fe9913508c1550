"""The tables of SERVICE.md 3.4 that exist so far."""

from monitor.store.tables.catalog import Endpoint, Model, Provider, Reference
from monitor.store.tables.findings import Baseline, BaselineRun, ChangeEvent, Evidence, MetricPoint
from monitor.store.tables.ledger import Observation, Run, Sample, SampleBody
from monitor.store.tables.metadata import Table

__all__ = [
    "Baseline",
    "BaselineRun",
    "ChangeEvent",
    "Endpoint",
    "Evidence",
    "MetricPoint",
    "Model",
    "Observation",
    "Provider",
    "Reference",
    "Run",
    "Sample",
    "SampleBody",
    "Table",
]

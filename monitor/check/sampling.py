"""The sampling probe of a check: a run's draws against those of its baseline."""

from __future__ import annotations

from collections.abc import Sequence

from monitor.check.ledger import Past
from monitor.drift.observation import Observation
from monitor.drift.sampling import Sampling, assess_sampling
from probes.sampling import COOL


def assessed(endpoint_id: str, new: Sequence[Observation], past: Past, no_past: str, *, shares: int) -> Sampling:
    before = [one for run in past.runs for one in run.observations]
    return assess_sampling(endpoint_id, new, before, (1.0, COOL), no_past=no_past, shares=shares)

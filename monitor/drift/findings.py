"""What was found of one run: a finding a check, and its distance to the reference beside them."""

from __future__ import annotations

from dataclasses import dataclass

from monitor.drift.accounting import CountTest
from monitor.drift.cause import Cause
from monitor.drift.interval import Interval
from monitor.drift.rule import Verdict
from monitor.drift.stages import Stage


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found. `reason` says why there is no conclusion; p is as tested, `adjusted_p` for all
    that its check tests.

    stage: how far a suspicion got, which fresh answers are to confirm.
    """

    verdict: Verdict
    reason: str = ""
    value: float | None = None
    unit: str = "nat"
    interval: Interval | None = None
    baseline: float | None = None
    detectable: float | None = None
    target: float | None = None
    p: float | None = None
    adjusted_p: float | None = None
    n: int = 0
    causes: tuple[Cause, ...] = ()
    stage: Stage | None = None


@dataclass(frozen=True, slots=True)
class Fidelity:
    """Distance to the reference: the standing finding beside the checks.

    allowed: the nearest of the allowed profiles, whose distance the finding's value is; lawful: how far from it an
    honest endpoint may be. nearest: the candidate that fits best, allowed or not.
    """

    finding: Finding
    allowed: str | None = None
    lawful: float | None = None
    nearest: str | None = None


@dataclass(frozen=True, slots=True)
class Assessment:
    """The findings of one run of the logprobs and accounting probes."""

    logprobs: Finding
    accounting: Finding
    fidelity: Fidelity
    counts: CountTest | None

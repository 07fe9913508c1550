"""Evidence back into the parts of a verdict document, where an earlier attempt of the check has judged the run."""

from __future__ import annotations

from collections.abc import Sequence

from monitor.store import EvidenceRecord
from monitor.verdict import CauseWeight, Check, FidelityStatement

_FIDELITY = "fidelity"


def checks_of(evidence: Sequence[EvidenceRecord]) -> list[Check]:
    return [
        Check(
            probe=found.metric,
            verdict=found.verdict,
            reason=found.reason or "",
            value=found.value,
            unit=found.unit,
            interval=_ends(found),
            baseline=found.baseline,
            detectable=found.detectable,
            target=found.target,
            p=found.adjusted_p,
            n=found.n or 0,
            tokens=found.tokens or 0,
            causes=_causes(found),
        )
        for found in evidence
        if found.metric != _FIDELITY
    ]


def fidelity_of(evidence: Sequence[EvidenceRecord], allowed: Sequence[str]) -> FidelityStatement | None:
    """None where the run was not compared with its reference."""
    for found in evidence:
        if found.metric == _FIDELITY:
            return FidelityStatement(
                verdict=found.verdict,
                reason=found.reason or "",
                value=found.value,
                unit=found.unit or "nat",
                interval=_ends(found),
                lawful=found.detail.get("lawful"),
                detectable=found.detectable,
                target=found.target,
                n=found.n or 0,
                allowed=tuple(allowed),
                nearest=found.detail.get("nearest"),
                ranking=_causes(found),
            )
    return None


def _ends(found: EvidenceRecord) -> tuple[float, float] | None:
    return None if found.interval is None else (found.interval.low, found.interval.high)


def _causes(found: EvidenceRecord) -> tuple[CauseWeight, ...]:
    return tuple(CauseWeight(name=cause.name, weight=cause.weight) for cause in found.causes)

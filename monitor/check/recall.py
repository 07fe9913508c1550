"""Evidence back into the parts of a verdict document: of a run that an earlier attempt of the check has judged, or that
is looked at later."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from monitor.store import EvidenceRecord
from monitor.verdict import CauseWeight, Check, FidelityStatement, Said

_FIDELITY = "fidelity"
# In the detail of fidelity's evidence.
REFERENCE = "reference"
# In the detail of a run's first piece of evidence.
_SAID = "said"


def checks_of(evidence: Sequence[EvidenceRecord]) -> list[Check]:
    return [check_of(found) for found in evidence if found.metric != _FIDELITY]


def check_of(found: EvidenceRecord) -> Check:
    return Check(
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
        tokens=found.tokens,
        causes=_causes(found),
    )


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


def served_of(evidence: Sequence[EvidenceRecord]) -> Mapping[str, Sequence[str]]:
    """What a reference that is another endpoint called itself in the run."""
    return next((found.detail[REFERENCE] for found in evidence if REFERENCE in found.detail), {})


def with_said(evidence: Sequence[EvidenceRecord], said: Said) -> list[EvidenceRecord]:
    """The evidence of a run with what is said beside it, as `said_of` finds it."""
    kept = said.model_dump(mode="json", exclude_defaults=True)
    if not kept or not evidence:
        return list(evidence)
    first, *others = evidence
    return [replace(first, detail={**first.detail, _SAID: kept}), *others]


def said_of(evidence: Iterable[EvidenceRecord]) -> Said:
    """What is said beside the checks of any number of runs."""
    found = Said()
    for one in evidence:
        if _SAID in one.detail:
            found = found.beside(Said.model_validate(one.detail[_SAID]))
    return found


def own_detail(found: EvidenceRecord) -> dict[str, Any]:
    """What the detector itself has to say."""
    return {name: value for name, value in found.detail.items() if name != _SAID}


def _ends(found: EvidenceRecord) -> tuple[float, float] | None:
    return None if found.interval is None else (found.interval.low, found.interval.high)


def _causes(found: EvidenceRecord) -> tuple[CauseWeight, ...]:
    return tuple(CauseWeight(name=cause.name, weight=cause.weight) for cause in found.causes)

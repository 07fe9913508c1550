"""Findings into the verdict document and into the evidence that is kept: the same numbers in both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from monitor.check.recall import REFERENCE
from monitor.drift.endpoint_reference import Served
from monitor.drift.findings import Assessment, Fidelity, Finding
from monitor.drift.interval import Interval
from monitor.drift.rates import Rate
from monitor.drift.rule import Verdict
from monitor.drift.stages import STAGE
from monitor.standing import STREAMS
from monitor.store import EvidenceRecord, MetricPoint
from monitor.verdict import CauseWeight, Check, FidelityStatement, QuirkCount, RateValue, Telling
from probes.plan import ProbeKind, Sample

DETECTOR = "run-level"
DETECTOR_VERSION = "1"
# Causes below this weight are noise of the softmax, not statements.
_LEAST_WEIGHT = 1e-4


def check_of(probe: str, finding: Finding, tokens: int | None, telling: tuple[Telling, ...] = ()) -> Check:
    return Check(
        probe=probe,
        verdict=finding.verdict,
        reason=finding.reason,
        value=finding.value,
        unit=finding.unit,
        interval=_ends(finding.interval),
        baseline=finding.baseline,
        detectable=_finite(finding.detectable),
        target=finding.target,
        p=finding.adjusted_p,
        n=finding.n,
        tokens=tokens,
        causes=_causes(finding),
        telling=telling,
    )


def fidelity_statement(fidelity: Fidelity, allowed: Sequence[str]) -> FidelityStatement:
    finding = fidelity.finding
    return FidelityStatement(
        verdict=finding.verdict,
        reason=finding.reason,
        value=finding.value,
        unit=finding.unit,
        interval=_ends(finding.interval),
        lawful=fidelity.lawful,
        detectable=_finite(finding.detectable),
        target=finding.target,
        n=finding.n,
        allowed=tuple(allowed),
        nearest=fidelity.nearest,
        ranking=_causes(finding),
    )


def _finite(value: float | None) -> float | None:
    return value if value is not None and np.isfinite(value) else None


def _ends(interval: Interval | None) -> tuple[float, float] | None:
    return None if interval is None else (interval.low, interval.high)


def _causes(finding: Finding) -> tuple[CauseWeight, ...]:
    return tuple(
        CauseWeight(name=cause.name, weight=cause.weight) for cause in finding.causes if cause.weight >= _LEAST_WEIGHT
    )


def evidence_records(
    assessment: Assessment, judged: Sequence[ProbeKind], tokens: int | None, served: Served | None = None
) -> list[EvidenceRecord]:
    """What a run of the logprobs or accounting probe leaves behind: its checks, and the fidelity beside them, with what
    a reference that is another endpoint called itself."""
    found = {ProbeKind.LOGPROBS: assessment.logprobs, ProbeKind.ACCOUNTING: assessment.accounting}
    records = [record_of(probe.value, found[probe], tokens) for probe in judged if probe in found]
    if ProbeKind.LOGPROBS in judged:
        fidelity = assessment.fidelity
        detail: dict[str, object] = {"nearest": fidelity.nearest, "lawful": fidelity.lawful}
        if served is not None:
            detail[REFERENCE] = served.to_json()
        records.append(record_of("fidelity", assessment.fidelity.finding, tokens, detail))
    return records


def record_of(
    metric: str, finding: Finding, tokens: int | None, detail: Mapping[str, object] | None = None
) -> EvidenceRecord:
    return EvidenceRecord(
        metric=metric,
        detector=DETECTOR,
        detector_version=DETECTOR_VERSION,
        verdict=finding.verdict,
        counted=True,
        reason=finding.reason or None,
        p=finding.p,
        adjusted_p=finding.adjusted_p,
        value=finding.value,
        unit=finding.unit,
        interval=finding.interval,
        baseline=finding.baseline,
        detectable=_finite(finding.detectable),
        target=finding.target,
        n=finding.n,
        tokens=tokens,
        causes=finding.causes,
        detail={**(detail or {}), **({} if finding.stage is None else {STAGE: finding.stage.value})},
    )


def metric_points(assessment: Assessment, judged: Sequence[ProbeKind]) -> list[MetricPoint]:
    named = {
        "logprobs_shift": assessment.logprobs,
        "fidelity": assessment.fidelity.finding,
        "token_offset": assessment.accounting,
    }
    wanted = {ProbeKind.LOGPROBS: ("logprobs_shift", "fidelity"), ProbeKind.ACCOUNTING: ("token_offset",)}
    return [
        MetricPoint(name, finding.value, finding.n, finding.interval)
        for probe in judged
        for name in wanted.get(probe, ())
        if (finding := named[name]).value is not None
    ]


def rate_points(probe: ProbeKind, rates: Mapping[str, Rate]) -> list[MetricPoint]:
    """The points of a probe's rates; of nothing there is no rate, and no point."""
    return [
        MetricPoint(f"{probe.value}.{name}", rate.value, rate.denominator)
        for name, rate in rates.items()
        if rate.value is not None
    ]


def rate_value(name: str, rate: Rate, reference: Rate | None = None) -> RateValue:
    """A rate as the document has it, beside the reference's over the same items, where that has one."""
    return RateValue(
        name=name,
        value=rate.value,
        numerator=rate.numerator,
        denominator=rate.denominator,
        excluded=dict(rate.excluded),
        interval=None if rate.low is None or rate.high is None else (rate.low, rate.high),
        method=rate.method,
        reference=None if reference is None else reference.value,
        reference_denominator=(reference.denominator or None) if reference is not None else None,
    )


def counted_verdicts(checks: Sequence[Check]) -> list[Verdict]:
    """What a check is concluded from. That streams are as fast as before vouches for nothing else that was asked, and
    neither do many rounds that add up to nothing."""
    asked = [check for check in checks if check.probe != STREAMS]
    others = [check.verdict for check in asked if check.probe != ProbeKind.LATENCY.value]
    speed = [check.verdict for check in asked if check.probe == ProbeKind.LATENCY.value]
    added = [check.verdict for check in checks if check.probe == STREAMS]
    return [
        *others,
        *(verdict for verdict in speed if verdict is Verdict.SUSPECT or not others),
        *(verdict for verdict in added if verdict in (Verdict.SUSPECT, Verdict.DRIFT)),
    ]


def quirk_counts(samples: Sequence[Sample]) -> tuple[QuirkCount, ...]:
    """How many answers showed each quirk, most frequent first."""
    counted = Counter(q.value for s in samples if s.completion is not None for q in set(s.completion.quirks))
    return tuple(
        QuirkCount(name=name, count=count)
        for name, count in sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    )

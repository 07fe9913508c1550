"""Findings into the verdict document and into the evidence that is kept: the same numbers in both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from monitor.drift.findings import Assessment, Fidelity, Finding
from monitor.drift.interval import Interval
from monitor.drift.rates import Rate
from monitor.drift.rule import Verdict
from monitor.store import EvidenceRecord, MetricPoint
from monitor.verdict import CauseWeight, Check, FidelityStatement, LatencyValue, QuirkCount, RateValue, Telling
from probes import latency
from probes.plan import ProbeKind, Sample

DETECTOR = "run-level"
DETECTOR_VERSION = "1"
REPORTED = "reported"
_QUANTILES = (0.5, 0.95, 0.99)
# Causes below this weight are noise of the softmax, not statements.
_LEAST_WEIGHT = 1e-4


def check_of(probe: str, finding: Finding, tokens: int, telling: tuple[Telling, ...] = ()) -> Check:
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


def evidence_records(assessment: Assessment, judged: Sequence[ProbeKind], tokens: int) -> list[EvidenceRecord]:
    """What a run of the logprobs or accounting probe leaves behind: its checks, and the fidelity beside them."""
    found = {ProbeKind.LOGPROBS: assessment.logprobs, ProbeKind.ACCOUNTING: assessment.accounting}
    records = [record_of(probe.value, found[probe], tokens) for probe in judged if probe in found]
    if ProbeKind.LOGPROBS in judged:
        detail = {"nearest": assessment.fidelity.nearest, "lawful": assessment.fidelity.lawful}
        records.append(record_of("fidelity", assessment.fidelity.finding, tokens, detail))
    return records


def record_of(metric: str, finding: Finding, tokens: int, detail: Mapping[str, object] | None = None) -> EvidenceRecord:
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
        detail=dict(detail or {}),
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


def rate_value(name: str, rate: Rate, reference: Rate) -> RateValue:
    """A rate as the document has it, beside the reference's over the same items."""
    return RateValue(
        name=name,
        value=rate.value,
        numerator=rate.numerator,
        denominator=rate.denominator,
        excluded=dict(rate.excluded),
        interval=None if rate.low is None or rate.high is None else (rate.low, rate.high),
        method=rate.method,
        reference=reference.value,
    )


def latency_values(samples: Sequence[Sample]) -> tuple[LatencyValue, ...]:
    """TTFT and TPOT quantiles in seconds; each end of an interval is a 95 % bound by order statistics."""
    times = [found for sample in samples if (found := latency.stream_times(sample)) is not None]
    ttft = [found.ttft for found in times if found.ttft is not None]
    tpot = [found.tpot for found in times if found.tpot is not None]
    return (*_quantiles("ttft", ttft), *_quantiles("tpot", tpot))


def _quantiles(metric: Literal["ttft", "tpot"], values: Sequence[float]) -> list[LatencyValue]:
    found = {q: latency.percentile_interval(values, q) for q in _QUANTILES}
    return [
        LatencyValue(metric=metric, quantile=q, value=at.estimate, interval=(at.lo, at.hi), n=len(values))
        for q, at in found.items()
    ]


def latency_check(samples: Sequence[Sample], values: Sequence[LatencyValue], tokens: int) -> Check:
    """Reported, not judged: one run cannot tell a slow hour from a change."""
    median = next(value for value in values if value.metric == "ttft" and value.quantile == 0.5)
    measured = median.n > 0
    low, high = median.interval
    return Check(
        probe=ProbeKind.LATENCY.value,
        verdict=Verdict.INCONCLUSIVE if measured else Verdict.INAPPLICABLE,
        reason=REPORTED if measured else "no stream was answered",
        value=median.value,
        unit="s",
        interval=(low, high) if low is not None and high is not None else None,
        n=len(samples),
        tokens=tokens,
    )


def latency_evidence(check: Check, values: Sequence[LatencyValue]) -> EvidenceRecord:
    return EvidenceRecord(
        metric=ProbeKind.LATENCY.value,
        detector=DETECTOR,
        detector_version=DETECTOR_VERSION,
        verdict=check.verdict,
        counted=False,
        reason=check.reason,
        value=check.value,
        unit=check.unit,
        interval=None if check.interval is None else Interval(*check.interval),
        n=check.n,
        tokens=check.tokens,
        detail={"quantiles": [value.model_dump(mode="json") for value in values]},
    )


def latency_points(values: Sequence[LatencyValue]) -> list[MetricPoint]:
    return [
        MetricPoint(f"{value.metric}_p{value.quantile * 100:.0f}", value.value, value.n)
        for value in values
        if value.value is not None
    ]


def quirk_counts(samples: Sequence[Sample]) -> tuple[QuirkCount, ...]:
    """How many answers showed each quirk, most frequent first."""
    counted = Counter(q.value for s in samples if s.completion is not None for q in set(s.completion.quirks))
    return tuple(
        QuirkCount(name=name, count=count)
        for name, count in sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    )

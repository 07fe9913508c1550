"""The latency probe of a check: what its streams showed, by the size of their prompts, and how that has moved."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from monitor.check.conclude import DETECTOR, DETECTOR_VERSION, rate_value
from monitor.config import EndpointConfig, Slo
from monitor.drift.findings import Finding
from monitor.drift.interval import Interval
from monitor.drift.latency_past import Move, Timed, latency_finding, moved
from monitor.drift.rates import rate
from monitor.drift.rule import Verdict
from monitor.store import EvidenceRecord, MetricPoint
from monitor.verdict import Check, LatencyMoveValue, LatencyValue, LoadStatement, RateValue
from probes.load.caching import caching
from probes.load.probe import Load
from probes.load.summary import Promise, Share, buffered, figures, goodput
from probes.load.times import ALL_BUCKETS, bucket_of, latency_of, prompt_tokens
from probes.plan import Plan, ProbeKind, Sample

REPORTED = "reported"
# What is charted, and compared with the past.
_CHARTED = ("ttft", "tpot")
_LATE_S = 0.05
# Both of its ends are bounds of 95 % each.
_LEVEL = 0.9

# The points of one metric by their hours.
Points = Sequence[tuple[datetime, float]]


@dataclass(frozen=True, slots=True)
class Speed:
    """What one run's `streams` showed. `load` is None of streams that went one after another; `series` is what the
    names of points under one and the same load begin with."""

    values: tuple[LatencyValue, ...] = ()
    rates: tuple[RateValue, ...] = ()
    load: LoadStatement | None = None
    streams: int = 0
    series: str = ""


def speed(plan: Plan, load: Load | None, samples: Sequence[Sample], endpoint: EndpointConfig) -> Speed:
    streams = [sample for sample in samples if not sample.item.key.startswith("replay/")]
    times = [found for sample in streams if (found := latency_of(sample)) is not None]
    values = tuple(
        LatencyValue(
            metric=one.metric,
            bucket=one.bucket,
            quantile=one.quantile,
            value=one.at.estimate,
            interval=(one.at.lo, one.at.hi),
            n=one.n,
        )
        for one in figures(times)
    )
    rates = tuple(_rates(streams, endpoint.slos, under_load=load is not None))
    if load is None:
        return Speed(values, rates, streams=len(streams))
    statement = _statement(load, samples, streams, endpoint.max_concurrency)
    return Speed(values, rates, statement, len(streams), _series(plan, load))


def _series(plan: Plan, load: Load) -> str:
    """What else the requests are shaped by than by the rate is in the suite's hash."""
    usual = (load.sizes, load.max_tokens) == (Load().sizes, Load().max_tokens)
    return f"load.{load.per_second:g}rps" + ("" if usual else f".{plan.suite_sha256[:6]}")


def _statement(load: Load, samples: Sequence[Sample], streams: Sequence[Sample], at_once: int) -> LoadStatement:
    replays = caching(samples)
    return LoadStatement(
        per_second=load.per_second,
        at_once=at_once,
        streams=len(streams),
        late=sum((one.late_s or 0.0) - (one.held_s or 0.0) > _LATE_S for one in streams),
        caching=replays.caching.value,
        replays=replays.pairs,
    )


def _rates(streams: Sequence[Sample], slos: Sequence[Slo], *, under_load: bool) -> Iterator[RateValue]:
    if slos:
        promises = [Promise(**slo.model_dump()) for slo in slos]
        yield _rate("goodput", goodput(streams, promises))
        for bucket, of_size in _by_bucket(streams) if under_load else ():
            yield _rate(f"goodput.{bucket}", goodput(of_size, promises))
    held_back = buffered(streams)
    if under_load or _is_most(held_back):
        yield _rate("buffered", held_back)


def _is_most(share: Share) -> bool:
    """A few streams of a quick endpoint may come at once on their way."""
    return share.counted > 0 and 2 * share.met > share.counted


def _by_bucket(streams: Sequence[Sample]) -> Iterator[tuple[str, list[Sample]]]:
    """The smallest prompts first."""
    of_size = {bucket: [one for one in streams if bucket_of(prompt_tokens(one)) == bucket] for bucket in ALL_BUCKETS}
    yield from ((bucket, found) for bucket, found in of_size.items() if found)


def _rate(name: str, share: Share) -> RateValue:
    return rate_value(name, rate(share.met, share.counted, excluded=share.excluded))


def latency_points(found: Speed) -> list[MetricPoint]:
    quantiles = [
        MetricPoint(_point(value, found), value.value, value.n)
        for value in found.values
        if value.metric in _CHARTED and value.value is not None
    ]
    shares = [
        MetricPoint(f"{found.series}.{one.name}", one.value, one.denominator)
        for one in found.rates
        if found.load is not None and one.value is not None
    ]
    return quantiles + shares


def _point(value: LatencyValue, found: Speed) -> str:
    """Streams of an idle client and streams under each load are measured apart."""
    name = f"{value.metric}_p{value.quantile * 100:.0f}"
    return name if found.load is None else f"{found.series}.{value.bucket}.{name}"


def moves(found: Speed, past: Callable[[str], Points], now: datetime) -> dict[str, Move | None]:
    """How the medians of the last days lie to those of the weeks before; `past` has the points of both."""
    medians = [one for one in found.values if one.quantile == 0.5 and one.metric in _CHARTED]
    return {
        metric: moved([one for value in of_metric for one in _timed(value, past(_point(value, found)), now)])
        for metric in _CHARTED
        if (of_metric := [value for value in medians if value.metric == metric and value.value is not None])
    }


def _timed(value: LatencyValue, past: Points, now: datetime) -> Iterator[Timed]:
    for at, seconds in (*past, (now, value.value)):
        if seconds is not None:
            yield Timed((now - at) / timedelta(days=1), at.hour, value.bucket, seconds)


def move_values(found: Mapping[str, Move | None]) -> tuple[LatencyMoveValue, ...]:
    return tuple(
        LatencyMoveValue(
            metric=metric,
            shift=move.found.shift,
            interval=(move.found.interval.low, move.found.interval.high),
            p=move.found.p,
            hours=move.found.n,
            held=move.held,
        )
        for metric, move in found.items()
        if move is not None
    )


def latency_check(found: Speed, compared: Mapping[str, Move | None], tokens: int | None, shares: int = 1) -> Check:
    """The median time to the first token, of the smallest prompts; judged where there is a past to hold it against."""
    finding = latency_finding(compared, shares) or Finding(Verdict.INCONCLUSIVE)
    first = next((one for one in found.values if (one.metric, one.quantile) == ("ttft", 0.5)), None)
    if first is None:
        finding = Finding(Verdict.INAPPLICABLE, "no stream was answered")
    low, high = (None, None) if first is None else first.interval
    return Check(
        probe=ProbeKind.LATENCY.value,
        verdict=finding.verdict,
        reason="; ".join([finding.reason] * bool(finding.reason) + _noted(found)) or REPORTED,
        value=None if first is None else first.value,
        unit="s",
        interval=(low, high) if low is not None and high is not None else None,
        p=finding.adjusted_p,
        n=found.streams,
        tokens=tokens,
    )


def _noted(found: Speed) -> list[str]:
    """What else somebody who reads one line of a load has to know."""
    if found.load is None:
        return []
    held_back = (one for one in found.rates if one.name == "buffered" and one.numerator)
    words = [f"{one.numerator:g} of {one.denominator} streams held back" for one in held_back]
    return [*words, "answers come from a cache"] if found.load.caching == "cached" else words


def latency_evidence(check: Check, found: Speed, told: Sequence[LatencyMoveValue]) -> EvidenceRecord:
    return EvidenceRecord(
        metric=ProbeKind.LATENCY.value,
        detector=DETECTOR,
        detector_version=DETECTOR_VERSION,
        verdict=check.verdict,
        counted=check.verdict in (Verdict.OK, Verdict.SUSPECT),
        reason=check.reason,
        adjusted_p=check.p,
        value=check.value,
        unit=check.unit,
        interval=None if check.interval is None else Interval(*check.interval, _LEVEL),
        n=check.n,
        tokens=check.tokens,
        detail={
            "quantiles": [value.model_dump(mode="json") for value in found.values],
            "moves": [move.model_dump(mode="json") for move in told],
        },
    )


def moves_before(evidence: Sequence[EvidenceRecord]) -> tuple[LatencyMoveValue, ...]:
    """What an earlier attempt of the check found."""
    kept = (one.detail.get("moves", ()) for one in evidence if one.metric == ProbeKind.LATENCY.value)
    return tuple(LatencyMoveValue.model_validate(move) for found in kept for move in found)

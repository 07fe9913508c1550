"""How an endpoint's streams stand, from what is stored of them: as a document, and in words."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from monitor.drift.count_stream import CountStream
from monitor.drift.decision import DRIFT_AT, SHOWN_AT, SUSPECT_AT, Level, endpoint_verdict, stream_verdict
from monitor.drift.evidence import Null, StreamKey, Tier
from monitor.drift.levels import DAY
from monitor.drift.onset import Onset
from monitor.drift.score_stream import ScoreStream
from monitor.drift.stream_standing import Phase, StreamStanding, levels_of
from monitor.store.records import EndpointRecord
from monitor.store.stream_view_records import EndpointView, StreamView
from monitor.store.vocabulary import StreamLevel
from monitor.streams_document import (
    EpochStatement,
    EscalationStatement,
    EventStatement,
    LastEvidence,
    LevelsStatement,
    OnsetStatement,
    PromiseStatement,
    StreamsDocument,
    StreamStatement,
)

ALPHA = 1.0 / DRIFT_AT
TIERS = {
    Tier.PROTOCOL: "protocol",
    Tier.LOGPROBS: "log-probabilities",
    Tier.BORDER: "first tokens",
    Tier.GREEDY: "greedy answers",
    Tier.SAMPLING: "sampler",
    Tier.DISTRIBUTION: "distribution",
    Tier.CAPABILITY: "tools and evals",
}
_NO_EPOCH = "No epoch is open. The next saved check of this endpoint opens one."
_LONGEST_NAME = 20


def document_of(endpoint: EndpointRecord, view: EndpointView | None, at: datetime) -> StreamsDocument:
    """view: None where no epoch of the endpoint is open."""
    return StreamsDocument(
        endpoint_id=endpoint.id,
        provider=endpoint.provider,
        model=endpoint.model,
        served_name=endpoint.served_name,
        epoch=None if view is None else _epoch(view),
        verdict=None if view is None else endpoint_verdict(view.now.state, view.now.streams.values()),
        level=None if view is None else StreamLevel(view.now.state.level.name.lower()),
        worth=None if view is None else view.now.worth,
        held=None if view is None else view.now.state.held,
        looked_at=None if view is None or view.last is None else view.last.at,
        promise=None if view is None else _promise(view),
        streams=() if view is None else tuple(_stream(one) for one in view.streams),
        escalation=None if view is None else _escalation(view),
        onset=None if view is None else _onset(view.onset),
        events=() if view is None else tuple(_events(view)),
        coming=tuple(coming(endpoint, view, at)),
    )


def coming(endpoint: EndpointRecord, view: EndpointView | None, at: datetime) -> Iterator[str]:
    """What comes next, in sentences."""
    if view is None:
        yield _NO_EPOCH
        return
    for one in view.streams:
        yield from _waiting(one)
    yield from _of_level(endpoint, view)
    ends = time_of(view.now.ends_at)
    if at >= ends:
        yield f"The epoch's time was over {stamp(ends)} UTC: the next evidence opens the next one."
    else:
        yield f"The epoch ends {stamp(ends)} UTC: levels stay, and E starts at 1 again."


def _waiting(one: StreamView) -> Iterator[str]:
    standing, name = StreamStanding.of(one.state), stream_name(one.state.key)
    if standing.phase is Phase.WAITING and one.state.key.tier is Tier.LOGPROBS:
        yield f"{name}: says nothing until its prompts were answered often enough to enrol them."
    if standing.phase is not Phase.CALIBRATING:
        return
    if standing.until is not None:
        days = one.state.rule.days
        yield f"{name}: levels come from {days} days, at the earliest {stamp(time_of(standing.until))} UTC."
    elif standing.reason:
        yield f"{name}: no levels yet: {standing.reason}."


def _of_level(endpoint: EndpointRecord, view: EndpointView) -> Iterator[str]:
    state, planned = view.now.state, ", ".join(map(stream_name, view.now.planned))
    match state.level:
        case _ if state.held is not None:
            yield f"Drift is held back: {state.held}. It is called once our side is as it was."
        case Level.DRIFT:
            yield (
                "Drift stays for the epoch. To go on from what it is since: "
                f"monitor baseline accept --provider {endpoint.provider} --model {endpoint.model} --note …"
            )
        case Level.SUSPECT if view.now.escalation.streams:
            asked = ", ".join(map(stream_name, view.now.escalation.streams))
            yield f"An escalation is open: {asked}, on answers that no stream has seen. At {DRIFT_AT:,.0f} it is drift."
        case Level.SUSPECT:
            yield f"At {DRIFT_AT:,.0f} it is drift; no escalation is open."
        case Level.SHOWN if planned:
            yield f"At {SUSPECT_AT:,.0f} it is suspect, and {planned} is asked on answers that no stream has seen."
        case Level.SHOWN:
            yield f"At {SUSPECT_AT:,.0f} it is suspect; no escalation is planned."


def stream_name(key: StreamKey) -> str:
    """`T1 anchors-1`; a name that is a digest, or as long, is cut."""
    return f"{key.tier.value} {short(key.probe_set)}"


def short(probe_set: str) -> str:
    return probe_set if len(probe_set) <= _LONGEST_NAME else f"{probe_set[: _LONGEST_NAME - 1]}…"


def worth_text(value: float) -> str:
    """`14.3`, `1,199`, `5e+08`."""
    if value >= 1e6:
        return f"{value:.0e}"
    return f"{value:,.0f}" if value >= 1_000.0 else f"{value:.3g}"


def time_of(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def stamp(at: datetime) -> str:
    return at.strftime("%Y-%m-%d %H:%M")


def _epoch(view: EndpointView) -> EpochStatement:
    epoch = view.epoch
    return EpochStatement(
        number=epoch.number, stack=epoch.stack, opened_at=epoch.opened_at, ends_at=time_of(view.now.ends_at)
    )


def _promise(view: EndpointView) -> PromiseStatement:
    return PromiseStatement(
        alpha=ALPHA,
        epoch_days=(view.now.ends_at - view.now.epoch.opened_at) / DAY,
        shown_at=SHOWN_AT,
        suspect_at=SUSPECT_AT,
        drift_at=DRIFT_AT,
    )


def _escalation(view: EndpointView) -> EscalationStatement | None:
    escalation = view.now.escalation
    if not escalation.streams:
        return None
    return EscalationStatement(number=escalation.number, staked=view.now.state.staked, worth=escalation.value)


def _stream(one: StreamView) -> StreamStatement:
    state, standing, levels = one.state, StreamStanding.of(one.state), levels_of(one.state)
    return StreamStatement(
        tier=state.key.tier,
        probe_set=state.key.probe_set,
        escalation=one.escalation,
        verdict=stream_verdict(state),
        worth=state.value,
        weight=one.weight,
        phase=standing.phase,
        reason=standing.reason,
        calibrating_since=None if standing.since is None else time_of(standing.since),
        levels_at=None if standing.until is None else time_of(standing.until),
        null=_null(one),
        levels=None
        if levels is None
        else LevelsStatement(hourly=levels.hourly, daily=levels.daily, delta=levels.delta, days=levels.days),
        begun=one.begun,
        rounds=one.rounds,
        answers=one.answers,
        tokens=one.tokens,
        last=None
        if one.last is None
        else LastEvidence(sequence=one.last.sequence, run_id=one.last.run_id, at=one.last.at, reasons=one.last.reasons),
        onset=_onset(one.onset),
    )


def _null(one: StreamView) -> Null | None:
    if isinstance(one.state.process, ScoreStream):
        return Null.EXCHANGEABLE if one.state.process.bets is None else Null.LAWFUL_MEAN
    if isinstance(one.state.process, CountStream):
        return Null.LAWFUL_MEAN
    found = None if one.last is None else one.last.says.get("null")
    return None if found is None else Null(found)


def _onset(found: Onset | None) -> OnsetStatement | None:
    if found is None:
        return None
    return OnsetStatement(
        first=time_of(found.first),
        after=None if found.after is None else time_of(found.after),
        until=time_of(found.until),
        detected=time_of(found.detected),
    )


def _events(view: EndpointView) -> Iterator[EventStatement]:
    for look in view.news:
        for event in look.events:
            yield EventStatement(at=look.at, event=event, worth=look.worth, run_id=look.run_id)

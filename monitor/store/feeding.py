"""A run that ends feeds the streams of its endpoint: epochs are opened, enrolments made, evidence added and looked at,
in the transaction that closes the run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from monitor.drift.anchors import (
    LEAST_PROMPTS,
    PLAIN,
    SCORED,
    anchor_evidence,
    anchor_rounds,
    no_values,
    of_prompts,
)
from monitor.drift.broken_calls import of_cases
from monitor.drift.decision import SHOWN_AT, Level, endpoint_verdict
from monitor.drift.endpoint_streams import EndpointStreams
from monitor.drift.evidence import Evidence, StreamKey, Tier, of_finding
from monitor.drift.fingerprint import Enrolment, enrol
from monitor.drift.rule import Verdict
from monitor.drift.score_stream import Round, ScoreStream, StreamRule
from monitor.drift.stack import DETECTORS
from monitor.drift.whitened_scores import whiten
from monitor.standing import STREAMS
from monitor.store import enrolments, stream_adding, stream_epochs, stream_recorded, stream_settling
from monitor.store.baselines import hold
from monitor.store.enrolments import Kept, Window
from monitor.store.escalations import escalated
from monitor.store.records import EvidenceRecord
from monitor.store.stream_first import first_rounds
from monitor.store.stream_records import EpochPlan, Fed
from monitor.store.stream_rows import open_epoch_or_none
from monitor.store.tables import EndpointEpoch, Run, Sample, StandingEvidence
from monitor.store.vocabulary import EpochEnd, Trigger
from probes.plan import ProbeKind
from probes.tools.case import case_of

# What is watched besides the anchors, by tier; each is fed by the runs of the probe of its name.
OF_RUNS = {
    "accounting": Tier.PROTOCOL,
    "protocol": Tier.PROTOCOL,
    "tool_calls": Tier.CAPABILITY,
    "agent_loops": Tier.CAPABILITY,
    "evals": Tier.CAPABILITY,
}
# The cases of the tool calls' runs, one by one.
CASES = "cases"
# As long as a week's cases are asked, and a day.
_CASES_LIVE = timedelta(days=8)
# Without a schedule: the anchors' levels count rounds by the hour, whatever else is asked is asked now and then.
_ROUNDS_OF_ANCHORS, _ROUNDS_OF_OTHERS = 24, 1
# An enrolment and its levels come from answers of four weeks at most.
_REACH = timedelta(days=28)

Baselines = Mapping[StreamKey, Sequence[Round]]


class _Made(NamedTuple):
    """An enrolment that takes the place of the one before; `of_now`: the run's own answers are part of it."""

    kept: Kept
    of_now: bool


def feed(session: Session, run: Run, fed: Fed, at: datetime) -> EvidenceRecord | None:
    """What the endpoint's streams came to, where there is anything to say of it: from an E of 20 on, and until what was
    said before is taken back. The run is held already, and everything it found is stored."""
    hold(session, run.endpoint_id)
    if fed.escalates:
        return _escalated(session, run, fed, at)
    stream_settling.settle(session, run.endpoint_id, at)
    now, fresh = _opened(session, run, fed, at)
    evidence = [*_evidence(session, run, fed, fresh=fresh), *_of_cases(session, run, fed, now)]
    watched = [one for one in evidence if one.stream in now.streams]
    added = stream_adding.add(session, run.id, watched, stack=fed.stack, our_side=None, at=at)
    if not added.sequences:
        return None
    return _told(session, run, added.streams)


def _escalated(session: Session, run: Run, fed: Fed, at: datetime) -> EvidenceRecord | None:
    """Into the open escalation. Where the epoch is over, or asks other streams by now, it is said to nobody."""
    row = open_epoch_or_none(session, run.endpoint_id)
    now = None if row is None else stream_recorded.current(session, row)
    if now is None or now.ended(at.timestamp(), fed.stack) is not None:
        return None
    began = run.started_at.timestamp()
    evidence = [replace(one, at=began) for one in fed.evidence if one.stream in now.escalation.streams]
    if not evidence:
        return None
    added = stream_adding.add_escalated(session, run.id, evidence, stack=fed.stack, our_side=None, at=at)
    return _told(session, run, added.streams) if added.sequences else None


def _opened(session: Session, run: Run, fed: Fed, at: datetime) -> tuple[EndpointStreams, bool]:
    """The open epoch as it is to be for this run, and whether the run's own answers are part of a new enrolment."""
    endpoint_id = run.endpoint_id
    row = open_epoch_or_none(session, endpoint_id)
    before = None if row is None else stream_recorded.current(session, row)
    rules = _rules(run, fed, before)
    plan = EpochPlan(fed.stack, rules, escalated(rules))
    made = _made(session, run, fed, at)
    if made is not None:
        enrolments.keep(session, run, made.kept, at)
    if fed.border is not None and fed.border != enrolments.current_border(session, endpoint_id):
        enrolments.keep_border(session, run, fed.border, at)
    fresh = made is not None and made.of_now
    if before is None:
        return stream_epochs.open_first(session, endpoint_id, plan, _baselines(session, run, made, None), at), fresh
    if row is not None and before.epoch.stack != fed.stack:
        baselines, firsts = _baselines(session, run, made, before), _firsts(session, run, made, row)
        return stream_epochs.change_stack(session, endpoint_id, plan, baselines, at, firsts), fresh
    if made is not None or (plan.streams.keys(), plan.escalation.keys()) != (
        before.streams.keys(),
        before.planned.keys(),
    ):
        baselines_or_levels = None if made is None else _baselines(session, run, made, before)
        why = EpochEnd.REPLANNED
        return stream_epochs.turn(session, endpoint_id, why, plan, baselines_or_levels, at), fresh
    return before, False


def _rules(run: Run, fed: Fed, before: EndpointStreams | None) -> dict[StreamKey, StreamRule]:
    """What is watched. A stream goes on by the rule that it had, but whether it may alarm is this release's to say.
    Log-probabilities are left out where the first run asked for some and was given none; border inputs in whose place
    there are others by now are watched no more."""
    endpoint_id = run.endpoint_id
    known = {} if before is None else {key: state.rule for key, state in before.streams.items()}
    if run.probe is ProbeKind.BORDER and fed.evidence:
        told = {one.stream for one in fed.evidence}
        known = {key: rule for key, rule in known.items() if key.tier is not Tier.BORDER or key in told}
    anchors = StreamRule(rounds_a_day=fed.rounds_a_day or _ROUNDS_OF_ANCHORS)
    others = StreamRule(rounds_a_day=fed.rounds_a_day or _ROUNDS_OF_OTHERS)
    of_runs = replace(others, proves=False)
    wanted = {StreamKey(endpoint_id, tier, name): of_runs for name, tier in OF_RUNS.items()}
    wanted |= {cases_key(endpoint_id): others} | {one.stream: others for one in fed.evidence}
    if fed.has_values or (not fed.listings and before is None):
        wanted |= {StreamKey(endpoint_id, Tier.LOGPROBS, name): anchors for name in SCORED}
    return {**wanted, **{key: replace(rule, proves=wanted.get(key, rule).proves) for key, rule in known.items()}}


def _made(session: Session, run: Run, fed: Fed, at: datetime) -> _Made | None:
    """A new enrolment, where there is none that fits what is asked, and enough was answered for one."""
    kept = enrolments.current(session, run.endpoint_id)
    if kept is not None and kept.whitened is None:
        # Written by another release: made anew of the answers that it was made of, while they are there.
        since = _since(kept.made_at, enrolments.closed_at(session, run.endpoint_id, kept.made_at))
        window = Window(run.endpoint_id, kept.suite_version, since, kept.made_at)
        if (anew := _made_of(session, window, enrolments.often_asked(session, window), of_now=False)) is not None:
            return anew
    if not fed.has_values or run.trigger is Trigger.CONFIRM:
        return None
    asked = {one.prompt for one in fed.listings}
    if kept is not None and kept.whitened is not None and kept.suite_version == run.suite_version:
        if run.trigger is Trigger.CLI or {one.prompt for one in kept.whitened.enrolment.prompts} <= asked:
            return None
        # Fewer anchors are asked from now on.
        fewer = of_prompts(kept.whitened, asked)
        return None if fewer is None else _Made(Kept(kept.suite_version, fewer, at), of_now=False)
    since = _since(at, enrolments.closed_at(session, run.endpoint_id))
    window = Window(run.endpoint_id, run.suite_version, since, at)
    return _made_of(session, window, enrolments.often_asked(session, window) & asked, of_now=True)


def _since(until: datetime, closed: datetime | None) -> datetime:
    return until - _REACH if closed is None else max(until - _REACH, closed)


def _made_of(session: Session, window: Window, prompts: set[str], *, of_now: bool) -> _Made | None:
    if len(prompts) < LEAST_PROMPTS:
        return None
    listings = [one for run in enrolments.asked_in(session, window, prompts) for one in run.listings]
    found = enrol(listings)
    if not isinstance(found, Enrolment) or len(found.prompts) < LEAST_PROMPTS:
        return None
    return _Made(Kept(window.suite_version, whiten(found, listings), window.until), of_now=of_now)


def _baselines(session: Session, run: Run, made: _Made | None, before: EndpointStreams | None) -> Baselines:
    """The rounds of the baselines as they are scored now."""
    return {**_of_border(session, run.endpoint_id, before), **_of_anchors(session, run, made, before)}


def _of_border(session: Session, endpoint_id: str, before: EndpointStreams | None) -> Baselines:
    """First tokens are counted by no engine of ours: what the levels came from stays as it is."""
    watched = [] if before is None else [key for key in before.streams if key.tier is Tier.BORDER]
    if before is None or not watched:
        return {}
    kept_of = {key: _span(before, key) for key in watched}
    given = stream_epochs.rounds(session, endpoint_id, max(0.0, min(since for since, _ in kept_of.values())))
    found = {
        key: [one for one in given.get(key, ()) if kept_of[key][0] <= one.at <= kept_of[key][1]] for key in watched
    }
    return {key: rounds for key, rounds in found.items() if rounds}


def _of_anchors(session: Session, run: Run, made: _Made | None, before: EndpointStreams | None) -> Baselines:
    """Of a new enrolment all rounds since its first answer, else those that the levels came from."""
    kept = enrolments.current(session, run.endpoint_id) if made is None else made.kept
    if kept is None or kept.whitened is None:
        return {}
    enrolment = kept.whitened.enrolment
    since = datetime.fromtimestamp(enrolment.first_at, tz=run.started_at.tzinfo)
    window = Window(run.endpoint_id, kept.suite_version, since, run.started_at)
    asked = enrolments.asked_in(session, window, {one.prompt for one in enrolment.prompts})
    fresh = made is not None and made.of_now
    runs = [(one.at, one.listings) for one in asked if fresh or one.run_id != run.id]
    found = anchor_rounds(run.endpoint_id, kept.whitened, runs)
    if fresh or before is None:
        return found
    kept_of = {key: _span(before, key) for key in found}
    return {
        key: [one for one in rounds if kept_of[key][0] <= one.at <= kept_of[key][1]] for key, rounds in found.items()
    }


def _firsts(session: Session, run: Run, made: _Made | None, row: EndpointEpoch) -> Baselines:
    """The first baselines for ever as they are scored now: those of anchors against what is enrolled now, those of
    border inputs as they were."""
    known = first_rounds(session, row)
    spans = {key: (rounds[0].at, rounds[-1].at) for key, rounds in known.items() if key.tier is Tier.LOGPROBS}
    found: dict[StreamKey, Sequence[Round]] = {key: known[key] for key in known if key.tier is Tier.BORDER}
    kept = enrolments.current(session, run.endpoint_id) if made is None else made.kept
    if kept is None or kept.whitened is None or not spans:
        return found
    since, until = min(first for first, _ in spans.values()), max(last for _, last in spans.values())
    zone = run.started_at.tzinfo
    window = Window(
        run.endpoint_id,
        kept.suite_version,
        datetime.fromtimestamp(since, tz=zone),
        datetime.fromtimestamp(until, tz=zone),
    )
    asked = enrolments.asked_in(session, window, {one.prompt for one in kept.whitened.enrolment.prompts})
    scored = anchor_rounds(run.endpoint_id, kept.whitened, [(one.at, one.listings) for one in asked])
    for key, (first, last) in spans.items():
        found[key] = [one for one in scored.get(key, ()) if first <= one.at <= last]
    return {key: rounds for key, rounds in found.items() if rounds}


def _span(before: EndpointStreams, key: StreamKey) -> tuple[float, float]:
    """When the first and the last round were that the stream's levels came from; without levels any round is one to
    take them from, but none from before what it holds: that was another regime. A score that is new takes those of the
    plain values."""
    state = before.streams.get(key) or before.streams.get(key._replace(probe_set=PLAIN))
    process = None if state is None else state.process
    if not isinstance(process, ScoreStream):
        return float("-inf"), float("inf")
    if process.baseline is not None:
        return process.baseline
    return process.past[0].at if process.past else float("-inf"), float("inf")


def _evidence(session: Session, run: Run, fed: Fed, *, fresh: bool) -> list[Evidence]:
    endpoint_id, at = run.endpoint_id, run.started_at.timestamp()
    found = [
        of_finding(StreamKey(endpoint_id, OF_RUNS[name], name), at, finding, fed.tokens)
        for name, finding in fed.found.items()
    ]
    evidence = [*(one for one in found if one is not None), *(replace(one, at=at) for one in fed.evidence)]
    if not fed.listings or fresh:
        return evidence
    kept = enrolments.current(session, endpoint_id)
    if kept is not None and kept.whitened is not None and kept.suite_version == run.suite_version:
        return [*evidence, *anchor_evidence(endpoint_id, kept.whitened, at, fed.listings, fed.tokens)]
    return evidence if fed.has_values else [*evidence, *no_values(endpoint_id, at, fed.listings, fed.tokens)]


def cases_key(endpoint_id: str) -> StreamKey:
    """The stream of broken tool calls."""
    return StreamKey(endpoint_id, Tier.CAPABILITY, CASES)


def _of_cases(session: Session, run: Run, fed: Fed, now: EndpointStreams) -> Iterator[Evidence]:
    """A run without a call is no news where others had some."""
    key = cases_key(run.endpoint_id)
    if run.probe is ProbeKind.TOOL_CALLS and (fed.cases or now.streams[key].process is None):
        yield of_cases(key, run.started_at.timestamp(), fed.cases, _asked_before(session, run), run.suite_version)


def _asked_before(session: Session, run: Run) -> set[str]:
    """The cases of an endpoint's earlier runs that are asked still."""
    found = session.scalars(
        select(Sample.item_key)
        .join(Run, Run.id == Sample.run_id)
        .where(
            Sample.endpoint_id == run.endpoint_id,
            Sample.created_at >= run.started_at - _CASES_LIVE,
            Run.probe == run.probe,
            Run.id != run.id,
        )
        .distinct()
    )
    return {case_of(key) for key in found}


def _told(session: Session, run: Run, now: EndpointStreams) -> EvidenceRecord | None:
    verdict = endpoint_verdict(now.state, now.streams.values())
    if now.state.level < Level.SUSPECT and stream_settling.waits_for_a_person(session, run.endpoint_id):
        return None
    before = select(StandingEvidence.metric).where(
        StandingEvidence.endpoint_id == run.endpoint_id, StandingEvidence.metric == STREAMS
    )
    if now.state.level is Level.QUIET and session.scalars(before.limit(1)).first() is None:
        return None
    worth = max(now.worth, now.average.value)
    best = max(now.streams.values(), key=lambda one: one.value)
    return EvidenceRecord(
        metric=STREAMS,
        detector=STREAMS,
        detector_version=DETECTORS,
        verdict=verdict,
        counted=verdict in (Verdict.OK, Verdict.SUSPECT, Verdict.DRIFT),
        reason=_reason(now, worth, best.key, best.value),
        value=worth,
        n=sum(1 for one in now.streams.values() if one.process is not None),
        detail={"epoch": now.epoch.number, "level": now.state.level.name.lower(), "held": now.state.held},
    )


def _reason(now: EndpointStreams, worth: float, key: StreamKey, value: float) -> str:
    if now.state.held is not None:
        return now.state.held
    if now.state.level is Level.QUIET and worth < SHOWN_AT:
        return f"many rounds together: E is {worth:.3g}, less than the {SHOWN_AT:.0f} that are shown"
    return f"many rounds together: E is {worth:.3g}, most by {key.tier.value} {key.probe_set} with {value:.3g}"

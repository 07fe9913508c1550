"""An incident as the product keeps it: hourly rounds of lists, then of a changed stack's, added to the streams of an
SQLite file until the endpoint drifted; closed, opened by another store, and computed anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
from sqlalchemy import update

from benchmarks.detection_lab.hourly import BASELINE_DAYS, HOUR, HOURS, PROMPTS, answers, listings
from benchmarks.detection_lab.lawful import Lawful
from benchmarks.detection_lab.union import Union
from monitor.drift.decision import Event
from monitor.drift.evidence import Evidence, Scores, StreamKey, Tier
from monitor.drift.fingerprint import Enrolment, enrol
from monitor.drift.fingerprint_scores import Asked, deviation_evidence
from monitor.drift.levels import DAY
from monitor.drift.listing import Listing
from monitor.drift.score_stream import Round, StreamRule
from monitor.store import EndpointIdentity, EndpointRecord, RunStart, Store, Trigger, new_id
from monitor.store.stream_records import EpochPlan
from monitor.store.streams import Streams
from monitor.store.tables import StreamEvidence
from probes.plan import ProbeKind

STACK = "detection-lab"
IDENTITY = EndpointIdentity("detection-lab", "https://lab.test/v1", "smol", "smol")
# At midnight of UTC, as the days of the baseline are.
OPENED = datetime.fromtimestamp(BASELINE_DAYS * DAY, UTC)
STILL, MOST_HOURS = 12, 240


@dataclass(frozen=True, slots=True)
class Kept:
    """`rounds` from the change to the drift; `steps`: pieces of evidence and looks that were computed anew;
    `differences` between these and what is stored, and once a stored number was changed: 0 or 1, as the first ends it;
    `alarms_again`: whether the alarm's run, computed anew, raises it."""

    rounds: float
    steps: int
    differences: float
    alarms_again: bool
    once_changed: float


def kept(path: Path, union: Union, lawful: Lawful, rng: np.random.Generator) -> Kept:
    """The union's second stack takes the first one's place after `STILL` hours. Raises ValueError where the incident
    does not come about."""
    before = [*_rounds(union, answers(union.logprobs[0], BASELINE_DAYS, lawful, rng), 0)]
    enrolled = enrol(one for of_hour in before for one in of_hour)
    if not isinstance(enrolled, Enrolment):
        raise ValueError(f"the lab's endpoint is not enrolled: {enrolled.reason}")
    still, changed = (
        answers(logprobs, MOST_HOURS // HOURS, lawful, rng)[:hours]
        for logprobs, hours in zip(union.logprobs, (STILL, MOST_HOURS), strict=True)
    )
    after = _rounds(union, np.concatenate([still, changed]), BASELINE_DAYS * HOURS)
    with Store.open(path, at=OPENED) as store:
        endpoint = store.ensure_endpoint(IDENTITY, at=OPENED)
        run_id, hours = _watched(store, endpoint, enrolled, before, after)
    with Store.open(path, at=OPENED) as store:
        return _computed_anew(store, endpoint, run_id, hours - STILL)


def _rounds(union: Union, found: np.ndarray, first: int) -> list[list[Listing]]:
    every = list(listings(union, found, first))
    return [every[start : start + PROMPTS] for start in range(0, len(every), PROMPTS)]


def _watched(
    store: Store,
    endpoint: EndpointRecord,
    enrolled: Enrolment,
    before: Sequence[list[Listing]],
    after: Sequence[list[Listing]],
) -> tuple[str, int]:
    """The run that drifted, and its number."""
    key, streams = StreamKey(endpoint.id, Tier.LOGPROBS, "anchors-1"), Streams(store.sessions)
    scored = [deviation_evidence(enrolled, Asked(key, one[0].at, one)) for one in before]
    streams.open(
        endpoint.id, EpochPlan(STACK, {key: StreamRule()}), at=OPENED, baselines={key: [_round(one) for one in scored]}
    )
    for hour, one in enumerate(after, 1):
        at = OPENED + timedelta(seconds=hour * HOUR)
        run_id = store.begin_run(_start(endpoint, at), at=at)
        evidence = deviation_evidence(enrolled, Asked(key, one[0].at, one, tokens=PROMPTS))
        if Event.DRIFTED in streams.add(run_id, [evidence], stack=STACK, at=at).events:
            return run_id, hour
    raise ValueError(f"no drift within {MOST_HOURS} hours")


def _round(one: Evidence) -> Round:
    if not isinstance(one.says, Scores):
        raise ValueError(f"no scores: {one.says}")
    return Round(one.at, one.says.mean)


def _start(endpoint: EndpointRecord, at: datetime) -> RunStart:
    return RunStart(
        endpoint_id=endpoint.id,
        check_id=new_id("chk", at),
        probe=ProbeKind.LOGPROBS,
        suite_sha256="0" * 64,
        suite_version="1",
        trigger=Trigger.SCHEDULE,
        config_digest="0" * 64,
        code_version=STACK,
        planned=PROMPTS,
    )


def _computed_anew(store: Store, endpoint: EndpointRecord, run_id: str, rounds: float) -> Kept:
    streams = Streams(store.sessions)
    whole, of_run = streams.replay(endpoint.id, 0), streams.replay_run(run_id)
    same = whole.exact and repr(whole.final) == repr(streams.states(endpoint.id))
    alarms_again = of_run.run is not None and Event.DRIFTED in of_run.run.events
    with store.sessions.write() as session:
        # The last bit of one value.
        changed = update(StreamEvidence).where(StreamEvidence.sequence == STILL)
        session.execute(changed.values(value=StreamEvidence.value * (1.0 + 2.0**-52)))
    once_changed = streams.replay(endpoint.id, 0)
    return Kept(
        rounds=rounds,
        steps=whole.evidence + whole.looks,
        differences=float(whole.difference is not None or not same),
        alarms_again=alarms_again,
        once_changed=float(once_changed.difference is not None),
    )

"""G13: what cannot be judged is called inapplicable, and never ok; a stored incident is the same bit for bit when it is
computed anew.

Four endpoints that cannot be judged, made of the model's own answers: one without log-probabilities, one with fewer
than ten border inputs, one whose noise hides int8, one that reports no usage. The incident is that of `incident.py`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np

from benchmarks.detection_lab import incident
from benchmarks.detection_lab.border_hours import enrolled_inputs, no_rates
from benchmarks.detection_lab.changes import UNCHANGED
from benchmarks.detection_lab.goals import g1, g3
from benchmarks.detection_lab.goals.figure import Figure, Lab
from benchmarks.detection_lab.hourly import BASELINE_DAYS, HOUR, HOURS, PROMPTS, answers, listings
from benchmarks.detection_lab.lawful import Lawful
from benchmarks.detection_lab.union import Union
from monitor.drift.assess import assess
from monitor.drift.border import FEWEST
from monitor.drift.border_scores import BorderInputs
from monitor.drift.decision import endpoint_verdict, stream_verdict
from monitor.drift.endpoint_streams import EndpointStreams
from monitor.drift.evidence import Evidence, Inapplicable, NotYet, StreamKey, Tier
from monitor.drift.fingerprint import Enrolment, enrol
from monitor.drift.fingerprint_scores import Asked, deviation_evidence
from monitor.drift.listing import Listing
from monitor.drift.material import Material
from monitor.drift.observation import Observation
from monitor.drift.rule import Verdict
from monitor.drift.score_stream import StreamRule
from monitor.drift.streams import Epoch, StreamState
from monitor.drift.whitened_scores import whiten, whitened_evidence

INT8, NOISE, HIDING, CLEAR = "w8-channel", 0.03, 0.15, 100
STACK = "detection-lab"
T1 = StreamKey("endpoint", Tier.LOGPROBS, "anchors-1")
T2 = StreamKey("endpoint", Tier.BORDER, "border-1")

Verdicts = list[Verdict]


def measure(lab: Lab) -> list[Figure]:
    return [*(figure for name, judged in CASES.items() for figure in of_case(name, judged(lab))), *kept_incident(lab)]


def of_case(name: str, verdicts: Verdicts) -> Iterator[Figure]:
    said = sum(one is Verdict.INAPPLICABLE for one in verdicts)
    yield Figure(f"{name}: share of {len(verdicts)} verdicts inapplicable", said / len(verdicts), least=1.0)
    yield Figure(f"{name}: verdicts ok", float(sum(one is Verdict.OK for one in verdicts)), most=0.0, form=".0f")


def without_logprobs(lab: Lab) -> Verdicts:
    """The run's, the enrolment's, and those of a stream and of its endpoint whose lists stopped coming."""
    union, rng = _prompts(lab), np.random.default_rng(lab.seed)
    came = list(listings(union, answers(union.logprobs[0], BASELINE_DAYS, Lawful(NOISE), rng)))
    empty = [Listing(one.prompt, one.at, (), np.array([])) for one in came]
    run = assess(_material([_observation(one, 9) for one in empty[:PROMPTS]]), no_baseline_reason="")
    streams = _said(_enrolment(came), empty[:PROMPTS])
    return [run.logprobs.verdict, _of(enrol(empty)), *streams]


def few_border_inputs(lab: Lab) -> Verdicts:
    """Nine near ties among prompts that never vary, and these alone."""
    union, rng = Union.of([lab.first.get(UNCHANGED, g3.PROMPTS)]), np.random.default_rng((lab.seed, 3))
    highest = -np.sort(-union.logprobs[0], axis=1)[:, :2]
    order = np.argsort(highest[:, 0] - highest[:, 1], kind="stable")
    clear, tied = order[-CLEAR:], order[: FEWEST - 1]
    return [
        verdict
        for prompts in (np.concatenate([tied, clear]), clear)
        for verdict in _unless_enrolled(enrolled_inputs(union.of_prompts(prompts), Lawful(NOISE), rng, no_rates))
    ]


def hidden_by_noise(lab: Lab) -> Verdicts:
    union, rng = _prompts(lab), np.random.default_rng((lab.seed, 1))
    days = answers(union.logprobs[0], BASELINE_DAYS, Lawful(HIDING), rng)
    came = list(listings(union, days))
    enrolled = _enrolment(came)
    now = list(listings(union, answers(union.logprobs[0], 1, Lawful(HIDING), rng)[:1], first=len(days)))
    lengths = whitened_evidence(whiten(enrolled, came), Asked(T1, now[0].at, now))
    return [*_said(enrolled, now), *_streamed(lengths)]


def without_usage(lab: Lab) -> Verdicts:
    """By the run's check of counts, enrolled and not."""
    union, rng = _prompts(lab), np.random.default_rng((lab.seed, 2))
    came = list(listings(union, answers(union.logprobs[0], 1, Lawful(NOISE), rng)))
    now, before = ([_observation(one, None) for one in some] for some in (came[:PROMPTS], came[PROMPTS:]))
    return [assess(_material(now, past), no_baseline_reason="").accounting.verdict for past in ([], before)]


CASES: Mapping[str, Callable[[Lab], Verdicts]] = {
    "no log-probabilities": without_logprobs,
    "fewer than ten border inputs": few_border_inputs,
    f"noise of {HIDING:g} nat": hidden_by_noise,
    "no usage": without_usage,
}


def _prompts(lab: Lab) -> Union:
    return g1.unions(lab, ())[0]


def _enrolment(came: list[Listing]) -> Enrolment:
    found = enrol(came)
    if not isinstance(found, Enrolment):
        raise ValueError(f"the lab's endpoint is not enrolled: {found.reason}")
    return found


def _of(found: Enrolment | NotYet | Inapplicable) -> Verdict:
    return Verdict.INAPPLICABLE if isinstance(found, Inapplicable) else Verdict.INCONCLUSIVE


def _said(enrolment: Enrolment, came: list[Listing]) -> Verdicts:
    return _streamed(deviation_evidence(enrolment, Asked(T1, came[0].at, came)))


def _streamed(evidence: Evidence) -> Verdicts:
    """Of a stream that is given this, and of an endpoint with no other."""
    state = StreamState(evidence.stream, StreamRule(), Epoch(0, 0.0, STACK)).after(evidence)
    streams, _ = EndpointStreams.opened(state.epoch, [state], {}).looked(evidence.at)
    return [stream_verdict(state), endpoint_verdict(streams.state, streams.streams.values())]


def _unless_enrolled(found: BorderInputs | NotYet | Inapplicable) -> Verdicts:
    return _streamed(Evidence(T2, 0.0, found)) if isinstance(found, Inapplicable) else [Verdict.INCONCLUSIVE]


def _observation(one: Listing, prompt_tokens: int | None) -> Observation:
    hour = round(one.at / HOUR)
    return Observation(
        item_key=one.prompt,
        rep=hour % HOURS,
        anchor=True,
        tokens=one.tokens,
        logprobs=one.logprobs,
        sampled=None,
        reference_tokens=(),
        expected={},
        prompt_tokens=prompt_tokens,
        expected_prompt_tokens=None,
        response_id=None,
    )


def _material(now: list[Observation], before: list[Observation] | None = None) -> Material:
    return Material(now, before or [], [], None)


def kept_incident(lab: Lab) -> list[Figure]:
    (union, *_) = g1.unions(lab, (INT8,))
    with tempfile.TemporaryDirectory(prefix="incident-") as folder:
        found = incident.kept(Path(folder) / "monitor.db", union, Lawful(NOISE), np.random.default_rng(lab.seed))
    return [
        Figure("stored incident of int8: rounds to drift", found.rounds, form=".0f"),
        Figure("evidence and looks computed anew", float(found.steps), least=1.0, form=".0f"),
        Figure("differences between what is stored and what is computed anew", found.differences, most=0.0, form=".0f"),
        Figure("the run of the alarm, computed anew, alarms", float(found.alarms_again), least=1.0, form=".0f"),
        Figure("differences once one stored number is changed", found.once_changed, least=1.0, form=".0f"),
    ]

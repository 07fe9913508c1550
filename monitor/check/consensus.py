"""The latest answers of one model's endpoints, as they are stored, held against each other: the consensus document.

A provider speaks once. Of several endpoints the one with the most prompts is its voice; each further one is compared in
its voice's place, which is one more comparison: alpha is shared among them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

from monitor.consensus import Camps, ConsensusDocument, ConsensusFinding, EndpointBeside
from monitor.drift.camps import CampTest
from monitor.drift.consensus import FEWEST_PROVIDERS, TOLERANCE, Consensus, Placed, of_logprobs
from monitor.drift.evidence import Inapplicable
from monitor.drift.observation import Observation
from monitor.drift.rule import SUSPECT_P
from monitor.store.anchors import AskedEndpoint, AskedModel
from monitor.store.codec import decode

# By prompt: each answer's tokens with their log-probabilities, in nats.
Answers = dict[str, list[dict[bytes, float]]]

_NOT_ASKED = "it was not asked in this time"
_NO_LOGPROBS = "its answers hold no log-probabilities"


def compared(asked: AskedModel, blobs: Mapping[str, Sequence[bytes]]) -> ConsensusDocument:
    """blobs: of each run the observations of its anchors, as stored. Raises StorageError where one is damaged."""
    answers = {
        each.endpoint_id: _answers([decode(blob) for blob in blobs.get(each.run_id, ())])
        for each in asked.endpoints
        if each.run_id is not None
    }
    able = [each for each in asked.endpoints if answers.get(each.endpoint_id)]
    unable = [_unable(each) for each in asked.endpoints if each not in able]
    voices, others = _voices(able, answers)
    speaking = {provider: answers[each.endpoint_id] for provider, each in voices.items()}
    alpha = SUSPECT_P / (1 + len(others))
    found = of_logprobs(speaking, alpha=alpha)
    if isinstance(found, Inapplicable):
        return _inapplicable(asked, found, [*unable, *(_row(each, ConsensusFinding.INAPPLICABLE) for each in able)])
    beside = _Beside(found, 1 + len(others))
    rows = [*unable, *map(beside.row, voices.values())]
    for each in others:
        again = of_logprobs({**speaking, each.provider: answers[each.endpoint_id]}, alpha=alpha)
        rows.append(_further(each, again, beside))
    return _document(asked, beside, rows)


def _answers(observations: Sequence[Observation]) -> Answers:
    """In the order of repeats; answers without log-probabilities are none."""
    found: defaultdict[str, list[dict[bytes, float]]] = defaultdict(list)
    for one in sorted(observations, key=lambda one: one.rep):
        if one.anchor and one.tokens:
            found[one.item_key].append(dict(zip(one.tokens, one.logprobs.tolist(), strict=True)))
    return dict(found)


def _voices(
    able: Sequence[AskedEndpoint], answers: Mapping[str, Answers]
) -> tuple[dict[str, AskedEndpoint], list[AskedEndpoint]]:
    """Each provider's endpoint with the most prompts, the oldest of these, chosen so without a look at what was
    answered; and all others."""
    voices: dict[str, AskedEndpoint] = {}
    for each in able:
        before = voices.get(each.provider)
        if before is None or len(answers[each.endpoint_id]) > len(answers[before.endpoint_id]):
            voices[each.provider] = each
    return voices, [each for each in able if voices[each.provider] is not each]


@dataclass(frozen=True, slots=True)
class _Beside:
    """One comparison of several: p counts `looks` times."""

    found: Consensus
    looks: int

    def row(self, each: AskedEndpoint) -> EndpointBeside:
        if each.provider in self.found.left_out:
            return _row(each, ConsensusFinding.LEFT_OUT, reason=self.found.left_out[each.provider])
        (placed,) = (one for one in self.found.placed if one.provider == each.provider)
        return _row(
            each,
            self._finding(placed),
            prompts=self.found.prompts,
            distance=placed.distance,
            ratio=_finite(placed.ratio),
            p=min(1.0, placed.p * self.looks),
            camp=self.camp(each.provider),
        )

    def _finding(self, placed: Placed) -> ConsensusFinding:
        if self.found.camps is not None:
            return ConsensusFinding.CAMP
        return ConsensusFinding.DIFFERS if placed.differs else ConsensusFinding.NOT_SHOWN

    def camp(self, provider: str) -> int | None:
        camps = () if self.found.camps is None else self.found.camps.members
        return next((number for number, names in enumerate(camps, 1) if provider in names), None)


def _further(each: AskedEndpoint, again: Consensus | Inapplicable, beside: _Beside) -> EndpointBeside:
    """An endpoint in its provider's voice's place; its camp has the number of the one that most of its members have."""
    if isinstance(again, Inapplicable):
        return _row(each, ConsensusFinding.LEFT_OUT, reason=again.reason)
    own = replace(beside, found=again)
    row, number = own.row(each), own.camp(each.provider)
    if number is None or again.camps is None:
        return row
    if beside.found.camps is None:
        return row.model_copy(update={"camp": None, "reason": f"with it in its provider's place, {again}"})
    like = [camp for name in again.camps.members[number - 1] if name != each.provider and (camp := beside.camp(name))]
    return row.model_copy(update={"camp": max(sorted(set(like)), key=like.count, default=None)})


def _row(each: AskedEndpoint, finding: ConsensusFinding, **numbers: Any) -> EndpointBeside:
    return EndpointBeside(
        endpoint_id=each.endpoint_id,
        provider=each.provider,
        served_name=each.served_name,
        run_id=each.run_id,
        at=each.at,
        finding=finding,
        **numbers,
    )


def _unable(each: AskedEndpoint) -> EndpointBeside:
    return _row(each, ConsensusFinding.LEFT_OUT, reason=_NOT_ASKED if each.run_id is None else _NO_LOGPROBS)


def _document(asked: AskedModel, beside: _Beside, rows: Sequence[EndpointBeside]) -> ConsensusDocument:
    found, differing = beside.found, [row for row in rows if row.finding is ConsensusFinding.DIFFERS]
    finding = ConsensusFinding.DIFFERS if differing else ConsensusFinding.NOT_SHOWN
    said = "; ".join(map(_differs, differing)) or f"no endpoint is shown to differ from the others ({_count(rows)})"
    return ConsensusDocument(
        **_facts(asked, rows),
        finding=finding if found.camps is None else ConsensusFinding.CAMP,
        says=said if found.camps is None else str(found),
        providers=len(found.placed),
        prompts=found.prompts,
        camps=None if found.camps is None else _camps(found.camps, beside.looks),
    )


def _count(rows: Sequence[EndpointBeside]) -> str:
    return f"{sum(row.distance is not None for row in rows)} were compared"


def _differs(row: EndpointBeside) -> str:
    times = "" if row.ratio is None else f", {row.ratio:.1f} times what the median one does"
    return (
        f"{row.provider} ({row.served_name}) differs from the others by {row.distance:.3f} nat{times} (p {row.p:.2g})"
    )


def _camps(found: CampTest, looks: int) -> Camps:
    return Camps(members=found.members, ratio=_finite(found.ratio), p=min(1.0, found.p * looks))


def _inapplicable(asked: AskedModel, found: Inapplicable, rows: Sequence[EndpointBeside]) -> ConsensusDocument:
    facts = _facts(asked, rows)
    return ConsensusDocument(
        **facts, finding=ConsensusFinding.INAPPLICABLE, says=found.reason, remedy=_remedy(asked, rows)
    )


def _remedy(asked: AskedModel, rows: Sequence[EndpointBeside]) -> str:
    known = {row.provider for row in rows}
    heard = {row.provider for row in rows if row.run_id is not None}
    if len(known) < FEWEST_PROVIDERS:
        return f"Add more providers of {asked.model} to the configuration, and have them asked."
    if len(heard) < FEWEST_PROVIDERS:
        others = ", ".join(sorted(known - heard))
        return f"Have the others asked ({others}), or look further back."
    if len({row.provider for row in rows if row.finding is ConsensusFinding.INAPPLICABLE}) < FEWEST_PROVIDERS:
        return "Without log-probabilities an endpoint cannot be compared: add providers that return them."
    return "Have each sent 40 requests or more: ten prompts or more are shared then."


def _facts(asked: AskedModel, rows: Sequence[EndpointBeside]) -> dict[str, Any]:
    return {
        "model": asked.model,
        "since": asked.since,
        "until": asked.until,
        "alpha": SUSPECT_P,
        "tolerance": TOLERANCE,
        "endpoints": tuple(sorted(rows, key=lambda row: (row.provider, row.served_name, row.endpoint_id))),
    }


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None

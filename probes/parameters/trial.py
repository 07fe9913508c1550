"""The trials of an experiment: requests in arms that differ in the parameter alone, and what came back for each."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from probes.capabilities import TOKEN_LIMITS
from probes.complaint import read_complaints
from probes.completion import Completion
from probes.learning import TOKEN_LIMIT_ALIASES
from probes.plan import Item, Outcome, Sample
from probes.quirks import Disposition
from probes.wire.message import without_tags

_PREFIX = "parameter"
_THINKING = "<think>"
_NOT_WHOLE = frozenset({"length", "content_filter"})


@dataclass(frozen=True, slots=True)
class Trial:
    """One request of an arm. Trials of one `place` in different arms differ in the parameter alone."""

    experiment: str
    arm: str
    place: int
    request: Mapping[str, Any]
    rep: int = 0

    def item(self, nonce: str) -> Item:
        """`nonce` tells the trials of one run from those of another: their wording is used once."""
        key = f"{_PREFIX}/{self.experiment}/{self.arm}/{self.place}-{nonce}"
        return Item(key, self.rep, self.request, verbatim=True)


class Fate(StrEnum):
    """What became of one trial. Only ANSWERED and the two refusals say anything of the parameter."""

    ANSWERED = "answered"
    REFUSED = "refused"
    REFUSED_UNNAMED = "refused without naming it"
    FAILED = "failed"


@dataclass(slots=True)
class Arm:
    """The samples of one arm by place, repeats in order."""

    samples: dict[int, list[Sample]] = field(default_factory=lambda: defaultdict(list))

    def all(self) -> list[Sample]:
        return [sample for place in sorted(self.samples) for sample in self.samples[place]]

    def at(self, place: int) -> Sequence[Sample]:
        return self.samples.get(place, ())


Arms = Mapping[str, Arm]


def arms_by_experiment(samples: Iterable[Sample]) -> dict[str, dict[str, Arm]]:
    """The samples of a run's trials; samples of other items are passed over."""
    found: dict[str, dict[str, Arm]] = defaultdict(lambda: defaultdict(Arm))
    for sample in sorted(samples, key=lambda sample: sample.item.rep):
        prefix, *path = sample.item.key.split("/")
        if prefix == _PREFIX and len(path) == 3:
            experiment, arm, place = path
            found[experiment][arm].samples[int(place.partition("-")[0])].append(sample)
    return found


def fate_of(sample: Sample, parameter: str) -> Fate:
    """Whether the trial was answered or refused. A timeout, a 5xx and a 429 are no refusal of a parameter."""
    if sample.outcome is Outcome.REFUSED:
        return Fate.REFUSED if names(sample, parameter) else Fate.REFUSED_UNNAMED
    return Fate.ANSWERED if answer_of(sample) is not None else Fate.FAILED


def names(sample: Sample, parameter: str) -> bool:
    """Whether the refusal is about this parameter by its own words."""
    body = sample.attempts[-1].body if sample.attempts else b""
    known = {parameter} if parameter not in TOKEN_LIMITS else {*TOKEN_LIMITS, *TOKEN_LIMIT_ALIASES}
    complaints = read_complaints(body)
    pointed = any(not known.isdisjoint(complaint.named) for complaint in complaints)
    return pointed or any(complaint.position(name) is not None for complaint in complaints for name in known)


def answer_of(sample: Sample) -> Completion | None:
    """The answer, where there is a good one."""
    completion = sample.completion
    if sample.outcome is not Outcome.OK or completion is None or completion.disposition is Disposition.ERROR:
        return None
    return completion if completion.http_status < 300 else None


def whole_answer_of(sample: Sample) -> Completion | None:
    """The answer, where it came to an end of its own."""
    completion = answer_of(sample)
    return None if completion is None or completion.finish_reason in _NOT_WHOLE else completion


def said(completion: Completion) -> str:
    """All that can be seen of what the model wrote, reasoning first."""
    return (completion.reasoning or "") + (completion.content or completion.text or "")


def shown(completion: Completion) -> str:
    """The answer proper: content without reasoning that a server left in it; nothing where that has not ended."""
    content = without_tags(completion.content or "")
    return "" if content.lstrip().startswith(_THINKING) else content


def fates(arm: Arm, parameter: str) -> Counter[Fate]:
    return Counter(fate_of(sample, parameter) for sample in arm.all())

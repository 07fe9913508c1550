"""What the families of a tool-call run are asked: which answers are a success, how much is no matter, which tests."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from monitor.drift.arguments import Parts, PromptArguments, arguments_test
from monitor.drift.failures import fisher, more_failures
from monitor.drift.multiplicity import Family
from monitor.drift.ternary import DEFAULT_MARGINS, Margin
from monitor.drift.tool_comparison import TRIGGER_CATEGORIES
from monitor.drift.trigger import Paired, prompt_test, rate_test
from probes.tools.attribution import Layer, layer_of
from probes.tools.case import Category
from probes.tools.ladder import Rung
from probes.tools.scored import Scored

# Availability has no margin in PROBES.md: what a team would call an outage.
_AVAILABLE = Margin(0.02)
# Where several arguments are right, or the schema has room for many.
_ARGUMENT_CATEGORIES = frozenset({Category.T3, Category.T5})
# Beyond so many ways to deal a prompt's answers, random ones stand for all: a run has a hundred prompts.
_MOST_WAYS = 2_000

Success = Callable[[Scored], bool | None]


class Asked(NamedTuple):
    """A test's p. bounded: it asks for the difference of the two rates, which is no matter unless it is beyond the
    margin; otherwise for single cases that moved, which may cancel out."""

    p: float
    bounded: bool = True


@dataclass(frozen=True, slots=True)
class Question:
    """Successes, the margin within which a difference is no matter, and the tests that ask for a change."""

    success: Success
    margin: Margin
    tests: Callable[[Paired], Sequence[Asked]]


def answers_of(answers: Iterable[Scored], success: Success) -> dict[str, list[bool]]:
    """Of each case which answers are a success; those of which there is nothing to say are not there."""
    found: dict[str, list[bool]] = defaultdict(list)
    for answer in answers:
        if (right := success(answer)) is not None:
            found[answer.case_key].append(right)
    return dict(found)


def paired(now: Iterable[Scored], other: Iterable[Scored], success: Success) -> Paired:
    """Successes of each case on both sides."""
    ours, theirs = answers_of(now, success), answers_of(other, success)
    keys = [key for key in ours if key in theirs]
    x, y = [ours[key] for key in keys], [theirs[key] for key in keys]
    return Paired.of([sum(one) for one in x], [len(one) for one in x], [sum(one) for one in y], [len(one) for one in y])


def failures(successes: Paired) -> Paired:
    return Paired(successes.r_x - successes.x, successes.r_x, successes.r_y - successes.y, successes.r_y)


def arguments_moved(now: Iterable[Scored], other: Iterable[Scored]) -> float | None:
    """p of the arguments of each case being drawn as on the other side; None where no case was called on both."""
    ours, theirs = _arguments(now), _arguments(other)
    pairs = [PromptArguments(tuple(ours[key]), tuple(theirs[key])) for key in ours if key in theirs]
    found = arguments_test(pairs, most=_MOST_WAYS)
    return None if found is None else found.p


def available(answer: Scored) -> bool | None:
    return answer.availability.first_ok


def conforms(answer: Scored) -> bool | None:
    return not any(layer_of(quirk) is Layer.STACK for quirk in answer.defects) if answer.completed else None


def calls(answer: Scored) -> bool | None:
    return answer.called if answer.category in TRIGGER_CATEGORIES and answer.excluded is None else None


def within_schema(answer: Scored) -> bool | None:
    return _passes(answer, Rung.SCHEMA_MISMATCH)


def with_values(answer: Scored) -> bool | None:
    return _passes(answer, Rung.VALUE_MISMATCH) if all(call.judged for call in answer.calls) else None


def _passes(answer: Scored, rung: Rung) -> bool | None:
    """Whether all its calls get past the rung; an answer that called nothing says nothing of arguments."""
    if answer.excluded is not None or not answer.calls:
        return None
    return all(call.strict.height > rung.height for call in answer.calls)


def _arguments(answers: Iterable[Scored]) -> dict[str, list[Parts]]:
    found: dict[str, list[Parts]] = defaultdict(list)
    for answer in answers:
        if answer.category in _ARGUMENT_CATEGORIES and answer.excluded is None and answer.calls:
            found[answer.case_key].append(_parts(answer))
    return dict(found)


def _parts(answer: Scored) -> Parts:
    """Which calls it makes, by their places in the case as names are not kept, and their arguments."""
    order = sorted(answer.calls, key=lambda call: (str(call.expected), call.arguments_sha256 or ""))
    return ",".join(str(call.expected) for call in order), ",".join(call.arguments_sha256 or "" for call in order)


def more_fail(successes: Paired) -> Sequence[Asked]:
    return (Asked(more_failures(failures(successes))),)


def _more_tries_fail(successes: Paired) -> Sequence[Asked]:
    """Tries fail by themselves, whatever they ask."""
    failed = failures(successes)
    counts = (int(each.sum()) for each in (failed.x, failed.r_x, failed.y, failed.r_y))
    return (Asked(fisher(*counts)),)


def _triggers_moved(successes: Paired) -> Sequence[Asked]:
    return (Asked(rate_test(successes)[1]), Asked(prompt_test(successes), bounded=False))


QUESTIONS: Mapping[Family, Sequence[Question]] = {
    Family.AVAILABILITY: (Question(available, _AVAILABLE, _more_tries_fail),),
    Family.CONFORMANCE: (Question(conforms, DEFAULT_MARGINS["conformance_ok"], more_fail),),
    Family.TRIGGER: (Question(calls, DEFAULT_MARGINS["trigger_rate"], _triggers_moved),),
    Family.ARGUMENTS: (
        Question(within_schema, DEFAULT_MARGINS["schema_ok"], more_fail),
        Question(with_values, DEFAULT_MARGINS["value_ok"], more_fail),
    ),
}

"""What the families of a tool-call run are asked: which answers are a success, how much is no matter, which tests."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from monitor.drift import questions
from monitor.drift.arguments import Parts, PromptArguments, arguments_test
from monitor.drift.multiplicity import Family
from monitor.drift.questions import AVAILABLE, Asked, Question, more_fail, more_tries_fail, successes
from monitor.drift.ternary import DEFAULT_MARGINS
from monitor.drift.tool_comparison import TRIGGER_CATEGORIES
from monitor.drift.trigger import Paired, prompt_test, rate_test
from probes.tools.attribution import Layer, layer_of
from probes.tools.case import Category
from probes.tools.ladder import Rung
from probes.tools.scored import Scored

# Where several arguments are right, or the schema has room for many.
_ARGUMENT_CATEGORIES = frozenset({Category.T3, Category.T5})
# Beyond so many ways to deal a prompt's answers, random ones stand for all: a run has a hundred prompts.
_MOST_WAYS = 2_000

Success = Callable[[Scored], bool | None]


def answers_of(answers: Iterable[Scored], success: Success) -> dict[str, list[bool]]:
    return successes(answers, success, _case)


def paired(now: Iterable[Scored], other: Iterable[Scored], success: Success) -> Paired:
    return questions.paired(now, other, success, _case)


def _case(answer: Scored) -> str:
    return answer.case_key


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


def with_all_calls(answer: Scored) -> bool | None:
    """Of cases that ask for several: calls that are there may all be right where others are lost."""
    return answer.parallel_exact if answer.excluded is None and answer.calls else None


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


def _triggers_moved(found: Paired) -> Sequence[Asked]:
    return (Asked(rate_test(found)[1]), Asked(prompt_test(found), bounded=False))


QUESTIONS: Mapping[Family, Sequence[Question[Scored]]] = {
    Family.AVAILABILITY: (Question("answered at the first try", available, AVAILABLE, more_tries_fail),),
    Family.CONFORMANCE: (
        Question("answers that keep to the protocol", conforms, DEFAULT_MARGINS["conformance_ok"], more_fail),
    ),
    Family.TRIGGER: (Question("answers that call a tool", calls, DEFAULT_MARGINS["trigger_rate"], _triggers_moved),),
    Family.ARGUMENTS: (
        Question("calling answers within the schema", within_schema, DEFAULT_MARGINS["schema_ok"], more_fail),
        Question("calling answers with the right values", with_values, DEFAULT_MARGINS["value_ok"], more_fail),
        Question("answers with all of several calls", with_all_calls, DEFAULT_MARGINS["value_ok"], more_fail),
    ),
}

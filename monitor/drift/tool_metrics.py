"""The rates of scored tool-call answers: each with its denominator, and with what is in neither number and why."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from monitor.drift.rates import Rate, clustered_rate, rate
from probes.quirks import Quirk
from probes.tools.attribution import Layer, layer_of
from probes.tools.case import Trigger
from probes.tools.ladder import Rung
from probes.tools.scored import Scored, ScoredCall

# Why a refusal, right or not, is in none of the rates of whole answers.
REFUSED = "refused"

_STACKS = frozenset(quirk for quirk in Quirk if layer_of(quirk) is Layer.STACK)
_K2VV_FINISH = "tool_calls"


@dataclass(frozen=True, slots=True)
class Count:
    """What one answer adds to a rate."""

    successes: float
    trials: int = 1


@dataclass(frozen=True, slots=True)
class Metric:
    """How a rate is counted: of the answers it is `about`, some are left out for a reason (None: not left out), and of
    some there is nothing to count (None)."""

    count: Callable[[Scored], Count | None]
    about: Callable[[Scored], bool]
    left_out: Callable[[Scored], str | None]


def tool_metrics(answers: Iterable[Scored]) -> dict[str, Rate]:
    """Every rate that needs no other side, by its name in PROBES.md 4; one without a denominator has no value.

    Calls are counted one by one, and as answers all of whose calls pass in names that end in `_requests`; as a plain
    client has them, and as repaired in names that end in `_lenient`.
    """
    given = list(answers)
    tries = {name: _of_tries(metric, given) for name, metric in _AVAILABILITY.items()}
    return tries | {name: _of_cases(metric, given) for name, metric in _QUALITY.items()}


def _of_tries(metric: Metric, answers: Sequence[Scored]) -> Rate:
    """Requests fail by themselves, whatever they ask."""
    counts, excluded = _counted(metric, answers)
    successes, trials = sum(count.successes for _, count in counts), sum(count.trials for _, count in counts)
    return rate(successes, trials, excluded=excluded)


def _of_cases(metric: Metric, answers: Sequence[Scored]) -> Rate:
    """Answers to one case fail together."""
    successes, trials, excluded = _by_case(metric, answers)
    return clustered_rate(list(successes.values()), list(trials.values()), excluded=excluded)


def broken_cases(answers: Sequence[Scored]) -> dict[str, float]:
    """Of each case that was answered with a call, by its key, the share of calls that do not keep to their schema."""
    successes, trials, _ = _by_case(_QUALITY["schema_ok"], answers)
    return {key: 1.0 - successes[key] / trials[key] for key in trials}


def _by_case(
    metric: Metric, answers: Sequence[Scored]
) -> tuple[Mapping[str, float], Mapping[str, int], Mapping[str, int]]:
    counts, excluded = _counted(metric, answers)
    successes: dict[str, float] = defaultdict(float)
    trials: dict[str, int] = defaultdict(int)
    for key, count in counts:
        successes[key] += count.successes
        trials[key] += count.trials
    return successes, trials, excluded


def _counted(metric: Metric, answers: Sequence[Scored]) -> tuple[list[tuple[str, Count]], Mapping[str, int]]:
    counts: list[tuple[str, Count]] = []
    excluded: Counter[str] = Counter()
    for answer in filter(metric.about, answers):
        reason = metric.left_out(answer)
        count = metric.count(answer) if reason is None else None
        if reason is not None:
            excluded[reason] += 1
        elif count is not None:
            counts.append((answer.case_key, count))
    return counts, excluded


def _planned(count: Callable[[Scored], bool]) -> Metric:
    """Of all that was asked."""
    return Metric(lambda answer: Count(count(answer)), _any, lambda _: None)


def _whole(count: Callable[[Scored], Count | None]) -> Metric:
    """Of whole answers, whatever they are worth."""
    return Metric(count, _any, _not_whole)


def _judged(count: Callable[[Scored], Count | None], about: Callable[[Scored], bool] | None = None) -> Metric:
    """Of answers that say something of quality."""
    return Metric(count, about or _any, _not_judged)


def _any(_: Scored) -> bool:
    return True


def _not_whole(answer: Scored) -> str | None:
    return None if answer.completed else str(answer.excluded or REFUSED)


def _not_judged(answer: Scored) -> str | None:
    return None if answer.excluded is None else str(answer.excluded)


def _flag(value: bool | None) -> Count | None:
    return None if value is None else Count(value)


def _conforms(answer: Scored) -> Count:
    return Count(not answer.defects & _STACKS)


def _strict(call: ScoredCall) -> Rung:
    return call.strict


def _lenient(call: ScoredCall) -> Rung:
    return call.lenient


def _passed(rung: Rung, read: Callable[[ScoredCall], Rung], answer: Scored) -> list[bool]:
    """Of each call whether it gets past `rung`; values only of calls that a case names."""
    calls = [call for call in answer.calls if call.judged or rung is not Rung.VALUE_MISMATCH]
    return [read(call).height > rung.height for call in calls]


def _of_each_call(rung: Rung, read: Callable[[ScoredCall], Rung], answer: Scored) -> Count | None:
    passed = _passed(rung, read, answer)
    return Count(sum(passed), len(passed)) if passed else None


def _of_all_calls(rung: Rung, read: Callable[[ScoredCall], Rung], answer: Scored) -> Count | None:
    passed = _passed(rung, read, answer)
    return Count(all(passed)) if passed else None


def _draft7(answer: Scored) -> Count | None:
    """As gateways count that judge by draft 7."""
    passes = [call.strict.height >= Rung.SCHEMA_MISMATCH.height and call.draft7 is True for call in answer.calls]
    return Count(all(passes)) if passes else None


def _k2vv(answer: Scored) -> Count | None:
    """As K2-Vendor-Verifier counts: answers that finish with tool_calls; valid with a call, all of which pass."""
    if answer.finish_reason != _K2VV_FINISH:
        return None
    return Count(bool(answer.calls) and all(_passed(Rung.SCHEMA_MISMATCH, _strict, answer)))


def _leaves(answer: Scored) -> Count | None:
    return Count(sum(match.share for match in answer.matches), len(answer.matches)) if answer.matches else None


_RUNGS = {
    "json_ok": Rung.INVALID_JSON,
    "name_ok": Rung.UNKNOWN_TOOL,
    "object_ok": Rung.NOT_OBJECT,
    "schema_ok": Rung.SCHEMA_MISMATCH,
    "value_ok": Rung.VALUE_MISMATCH,
}

_AVAILABILITY = {
    "first_attempt_ok": _planned(lambda answer: answer.availability.first_ok),
    "eventual_ok": _planned(lambda answer: answer.availability.eventually_ok),
    "shed_rate": _planned(lambda answer: answer.availability.shed),
}

_QUALITY = {
    "conformance_ok": _whole(_conforms),
    "trigger_rate": _judged(lambda answer: _flag(answer.called)),
    "oracle_trigger_tpr": _judged(lambda answer: _flag(answer.called), lambda answer: answer.trigger is Trigger.MUST),
    "oracle_trigger_fpr": _judged(
        lambda answer: _flag(answer.called), lambda answer: answer.trigger is Trigger.MUST_NOT
    ),
    "finish_agreement": _judged(lambda answer: _flag(answer.finish_agrees)),
    "missed_as_text": _judged(lambda answer: _flag(answer.missed_as_text)),
    **{
        f"{name}{requests}{lenient}": _judged(partial(count, rung, read))
        for name, rung in _RUNGS.items()
        for requests, count in (("", _of_each_call), ("_requests", _of_all_calls))
        for lenient, read in (("", _strict), ("_lenient", _lenient))
    },
    "schema_ok_draft7_requests": _judged(_draft7),
    "schema_accuracy_k2vv": _whole(_k2vv),
    "arg_match": _judged(_leaves),
    "parallel_exact": _judged(lambda answer: _flag(answer.parallel_exact)),
    "oracle_met": _judged(lambda answer: _flag(answer.right)),
    "oracle_met_lenient": _judged(lambda answer: _flag(answer.right_repaired)),
}

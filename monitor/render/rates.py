"""Rates as a table: what each is, with its interval, of how many, and beside it the reference's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_lowercase

from monitor.render.table import Row, Table
from monitor.render.wording import percent, percent_with
from monitor.verdict import RateValue

_NAMES = ("of the answers", "now", "of", "reference", "name")
# The rates that a person reads first, of the many there are; what each is the share of.
_WORDS = {
    "first_attempt_ok": "answered at the first try",
    "conformance_ok": "keep to the protocol",
    "trigger_rate": "call a tool",
    "trigger_f1": "call as the reference does, F1",
    "oracle_trigger_tpr": "call where they must",
    "oracle_trigger_fpr": "call where they must not",
    "twin_agreement": "streamed and plain alike",
    "finish_agreement": "finish_reason tells of calls",
    "missed_as_text": "a call written as text",
    "json_ok": "arguments that are JSON",
    "name_ok": "name a tool that there is",
    "schema_ok": "arguments within the schema",
    "schema_ok_lenient": "the same, once repaired",
    "value_ok": "arguments that are right",
    "parallel_exact": "all of several calls right",
    "oracle_met": "do what the case demands",
    "loop_turn_right": "turns of loops that are right",
    "loop_pass": "loops that reach their goal",
    "loop_pass_hat_2": "exercises passed 2 of 2 times",
    "loop_pass_hat_4": "exercises passed 4 of 4 times",
    "loop_errors_recovered": "errors of tools recovered from",
    "loop_instruction_resisted": "planted orders not obeyed",
    "loop_steps_ratio": "steps for each that is needed",
}
_OF_JUDGE = {
    "judge.agreed": "known answers judged rightly",
    "judge.wrong_called_right": "wrong ones judged right",
}
# Of a private suite or one of its categories, and of its judge; of streams or those of one size.
_KINDS = {
    "accuracy": "right answers",
    "judge": "the judge",
    "goodput": "streams that keep promises",
    "buffered": "streams held back",
}
_LEFT_OUT = {
    "transport": "not answered",
    "rate_limited": "turned away",
    "refused": "refused",
    "content_filter": "filtered",
    "length": "cut at their limit",
    "uncut": "not cut where they should be",
}
# What is no share, but a number of one thing for each of another.
_RATIOS = frozenset({"loop_steps_ratio"})


def rates_table(rates: Sequence[RateValue]) -> Table:
    """The main ones. Those without a denominator are named in a line, and what is left out of a rate is told once for
    all that leave it out."""
    shown = main_rates(rates)
    counted, empty = ([one for one in shown if bool(one.denominator) is some] for some in (True, False))
    marks = _marks([one.excluded for one in counted if one.excluded])
    after = [f"{mark}  left out: {_left_out(dict(excluded))}" for excluded, mark in marks.items()]
    if empty:
        after.append(f"not asked, or no such answers: {', '.join(one.name for one in empty)}")
    rows = tuple(_row(one, marks.get(_key(one.excluded), "")) for one in counted)
    return Table("rate", "What answers came to", _NAMES, rows, tuple(after), f"{len(rows)} of the check's answers")


def main_rates(rates: Sequence[RateValue]) -> list[RateValue]:
    """Those that a person reads; of a repair or a way of counting that tells the same there are many more."""
    named = {rate.name: rate for rate in rates}
    return [
        *(named[name] for name in _WORDS if name in named),
        *(named[name] for name in named if name.partition(".")[0] in _KINDS),
    ]


def rate_words(name: str) -> str:
    """What a rate is the share of; a name of the customer's own stays as it is."""
    kind, _, part = name.partition(".")
    return _WORDS.get(name) or _OF_JUDGE.get(name) or (f"{_KINDS[kind]}: {part}" if part else _KINDS[kind])


def rate_text(rate: RateValue) -> str:
    """`98.2 % [93.7, 99.5]`, of a number of things for each of others `1.25`."""
    return percent_with(rate.value, rate.interval) if rate.name not in _RATIOS else _ratio(rate.value)


def reference_text(rate: RateValue) -> str:
    if rate.reference is None:
        return ""
    theirs = percent(rate.reference) if rate.name not in _RATIOS else _ratio(rate.reference)
    return f"{theirs} of {rate.reference_denominator}" if rate.reference_denominator else theirs


def left_out_text(rate: RateValue) -> str:
    return _left_out(rate.excluded)


def _ratio(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _row(rate: RateValue, mark: str) -> Row:
    counted = f"{rate.numerator:g}/{rate.denominator}" + (f" {mark}" if mark else "")
    return Row((rate_words(rate.name), rate_text(rate), counted, reference_text(rate), rate.name))


def _key(excluded: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(excluded.items()))


def _marks(left_out: Sequence[Mapping[str, int]]) -> dict[tuple[tuple[str, int], ...], str]:
    """A letter for each that differs."""
    different = dict.fromkeys(map(_key, left_out))
    letters = [*ascii_lowercase, *(one + other for one in ascii_lowercase for other in ascii_lowercase)]
    return dict(zip(different, letters, strict=False))


def _left_out(excluded: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {_LEFT_OUT.get(reason, reason)}" for reason, count in sorted(excluded.items()))

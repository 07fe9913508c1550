"""The checks of a run as two tables: has the endpoint changed, and is it what its reference is?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from monitor.drift.cause import ENDPOINT
from monitor.drift.rule import Verdict
from monitor.render.measures import certainty, measures
from monitor.render.table import Row, Table
from monitor.render.wording import cause_text, number, verdict_word, with_interval, with_unit
from monitor.verdict import ENROLLED, Check, FidelityStatement

CHANGED = ("check", "verdict", "now", "before", "moved")
RIGHT = ("check", "verdict", "here", "reference", "apart")
_FIDELITY = "fidelity"
_GRAVE = {Verdict.DRIFT: 0, Verdict.SUSPECT: 1}
_FOUND = frozenset(_GRAVE)
# What is measured, where the reason does not say it: of rates that says what they are the share of.
_ABOUT = {
    "logprobs": "log-probabilities, how far a token's moved on average",
    "accounting": "prompt tokens beyond the reference's count",
    "streams": "what many rounds add up to",
    "latency": "median time to the first token",
    "protocol.parameters": "parameters that do another thing than before",
    "protocol.stack": "habits of writing that are not those of before",
    "protocol.tokens": "prompt tokens that are counted more than before",
    "fidelity.tokens": "prompt tokens beyond the reference's count",
}
_LEGEND = (
    "p: how probable so much is by chance, adjusted for all tests of the run; n: answers, cases or items compared; "
    "would see: the least that would have been found nine times of ten; [ ]: 95 % interval"
)
# Of what is measured, and not judged by one run alone.
_REPORTED = "reported"


def check_tables(checks: Sequence[Check], fidelity: FidelityStatement | None, times: str = "") -> tuple[Table, Table]:
    """What needs attention first. What could not be concluded, and measured nothing, is named in a line a reason;
    `times` is what else there is to say of latency."""
    own = [check for check in checks if not is_standing(check.probe)]
    standing = [check for check in checks if is_standing(check.probe)]
    rows = [_row(check, times if check.probe == "latency" else "") for check in own if _told(check)]
    apart = [_row(check) for check in standing if _told(check)]
    idle = list(_names(standing))
    if fidelity is not None and fidelity.value is not None:
        apart.insert(0, _fidelity_row(fidelity))
    elif fidelity is not None:
        idle.append((_FIDELITY, fidelity.verdict, fidelity.reason))
    found = Table("check", "Has it changed?", CHANGED, _gravest_first(rows), _idle(_names(own)))
    right = Table("check", "Is it what its reference is?", RIGHT, _gravest_first(apart), _idle(idle))
    return found, replace(right, after=(*right.after, _LEGEND)) if rows or apart else right


def _names(checks: Iterable[Check]) -> Iterator[tuple[str, Verdict, str]]:
    return ((check.probe, check.verdict, check.reason) for check in checks if not _told(check))


def is_standing(probe: str) -> bool:
    """Whether it is about the reference: said once, and no event."""
    return probe.partition(".")[0] == _FIDELITY


def word_of(check: Check) -> str:
    return _REPORTED if _is_reported(check) else verdict_word(check.verdict)


def _is_reported(check: Check) -> bool:
    return check.probe == "latency" and check.verdict is Verdict.INCONCLUSIVE and check.value is not None


def _told(check: Check) -> bool:
    return check.value is not None or check.verdict in _FOUND


def _row(check: Check, note: str = "") -> Row:
    found = measures(check)
    return Row((check.probe, word_of(check), found.now, found.before, found.moved), note_of(check, note), check.verdict)


def note_of(check: Check, note: str = "") -> str:
    """Why it is judged so, of what it looks like, and how sure that is."""
    reason = "" if check.reason == _REPORTED else check.reason
    causes = cause_text(check.causes) if check.verdict in _FOUND else ""
    words = [
        _ABOUT.get(check.probe, "") if check.value is not None else "",
        reason,
        note,
        f"looks like {causes}" if causes else "",
        ", ".join(certainty(check)),
    ]
    return "; ".join(word for word in words if word)


def _fidelity_row(fidelity: FidelityStatement) -> Row:
    apart = with_interval(with_unit(fidelity.value, fidelity.unit), fidelity.interval, fidelity.unit)
    return Row((_FIDELITY, verdict_word(fidelity.verdict), "", "", apart), fidelity_note(fidelity), fidelity.verdict)


def fidelity_note(fidelity: FidelityStatement) -> str:
    """To what the distance is, how much of it says nothing, and what it looks like."""
    if fidelity.value is None:
        return fidelity.reason
    allowed = f" ({', '.join(fidelity.allowed)})" if fidelity.allowed else ""
    whose = "the reference's" if fidelity.allowed == (ENDPOINT,) else f"the nearest allowed profile{allowed}"
    words = [f"log-probabilities, how far a token's is from {whose}"]
    words += [fidelity.reason] if fidelity.reason else []
    if fidelity.lawful is not None:
        words.append(f"up to {number(fidelity.lawful, fidelity.unit)} is lawful")
    if fidelity.ranking:
        words.append(f"looks most like {cause_text(fidelity.ranking)}")
    sure = [f"n {fidelity.n}"]
    if fidelity.detectable is not None:
        sure.append(f"would see {with_unit(fidelity.detectable, fidelity.unit)}")
    return "; ".join([*words, ", ".join(sure)])


def _gravest_first(rows: Iterable[Row]) -> tuple[Row, ...]:
    return tuple(sorted(rows, key=lambda row: _GRAVE.get(row.verdict or Verdict.OK, len(_GRAVE))))


def _idle(checks: Iterable[tuple[str, Verdict, str]]) -> tuple[str, ...]:
    named: defaultdict[tuple[Verdict, str], list[str]] = defaultdict(list)
    for name, verdict, reason in checks:
        named[verdict, reason].append(name)
    return tuple(f"{_why(verdict, reason)}: {', '.join(names)}" for (verdict, reason), names in named.items())


def _why(verdict: Verdict, reason: str) -> str:
    if reason == ENROLLED:
        return "enrolled, and compared from the next run on"
    return f"{verdict.value} ({reason})" if reason else verdict.value

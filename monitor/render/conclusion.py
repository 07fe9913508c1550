"""What a run means, in a sentence or two: the first thing that anybody reads of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from monitor.drift.rule import Verdict
from monitor.render.checks import is_standing
from monitor.render.measures import measures
from monitor.render.wording import cause_text, p_text
from monitor.verdict import Check, VerdictDocument


def conclusion(document: VerdictDocument) -> str:
    """The verdict, and what it is about."""
    found = [check for check in document.checks if check.verdict is document.verdict]
    match document.verdict:
        case Verdict.DRIFT:
            return f"DRIFT in {_named(found)}: the endpoint is not what it was"
        case Verdict.SUSPECT:
            return f"SUSPECT: {'; '.join(_suspicions(document, found))}"
        case Verdict.OK if document.enrolled:
            return "ok, and enrolled: later runs are compared with this one"
        case Verdict.OK:
            return "ok: no drift"
    if document.enrolled:
        return "enrolled: later runs are compared with this one; nothing to conclude yet"
    return "inconclusive: too little to conclude anything"


def _suspicions(document: VerdictDocument, found: Sequence[Check]) -> Iterator[str]:
    moved = [check for check in found if not _differs(check)]
    standing = [check.probe for check in found if _differs(check)]
    if document.fidelity.verdict is Verdict.SUSPECT:
        standing.insert(0, "fidelity")
    if moved:
        yield f"{_named(moved)} may have moved: more than chance would do, less than proof"
    if standing:
        yield f"it is not what its reference is ({', '.join(standing)})"
        if not moved and not any(check.p is not None for check in document.checks if not is_standing(check.probe)):
            yield "whether it has changed is not known, as there is nothing to compare it with"


def _differs(check: Check) -> bool:
    """Whether it is about the reference, and not about the past: counts that are off may always have been."""
    counts = check.probe == "accounting" and check.value is not None
    return is_standing(check.probe) or (counts and check.baseline in (None, check.value))


def details(document: VerdictDocument) -> list[str]:
    """Since when, how far, how sure, and what it looks like."""
    own = [check for check in document.checks if not _differs(check)]
    found = [check for check in own if check.verdict in (Verdict.DRIFT, Verdict.SUSPECT)]
    return [*map(_found, found), *_compared_with(document)]


def _found(check: Check) -> str:
    words = [f"{check.probe} moved {moved}" if (moved := measures(check).moved) else check.probe]
    if check.p is not None:
        words.append(f"by chance that comes with p {p_text(check.p)}")
    if causes := cause_text(check.causes):
        words.append(f"looks like {causes}")
    return "; ".join(words)


def _compared_with(document: VerdictDocument) -> Iterator[str]:
    for since, runs in dict.fromkeys((one.since, one.runs) for one in document.baselines):
        probes = [one.probe for one in document.baselines if (one.since, one.runs) == (since, runs)]
        accepted = f"{runs} accepted run{'' if runs == 1 else 's'}"
        yield f"compared with {accepted} since {since:%Y-%m-%d %H:%M} UTC: {', '.join(probes)}"


def _named(checks: Sequence[Check]) -> str:
    return " and ".join(check.probe for check in checks)

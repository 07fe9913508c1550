"""What an endpoint or an alert comes to, said in a sentence or two."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from dashboards import states
from dashboards.numbers import measured, minute, span
from dashboards.states import State
from monitor.alerts.rule import Watch
from monitor.alerts.states import AlertState
from monitor.deliveries.facts import Finding
from monitor.drift.cause import Cause
from monitor.drift.rule import DRIFT_P, LAWFUL_SHIFT, Verdict
from monitor.render.wording import cause_text, number
from monitor.standing import Stand, StandingVerdict, is_fidelity
from monitor.store.alert_records import AlertRecord
from monitor.store.browse_records import EndpointOverview
from monitor.store.records import CheckRun, EvidenceRecord

# What stands of an endpoint, with what was found.
Stands = Sequence[tuple[StandingVerdict, EvidenceRecord]]

# So many are named in a sentence; a table has them all.
_NAMED = 3
_PLAIN = {
    states.MAINTENANCE: "It is in maintenance: it is measured on, and no notice is sent.",
    states.ENROLLED: "Its baseline has just been set; later checks are compared with it.",
    states.INCONCLUSIVE: "Nothing is concluded yet: what was asked was too little.",
    states.INAPPLICABLE: "Nothing is concluded: what was asked does not apply to it.",
    states.CHECKING: "Its first check is under way.",
    states.WAITING: "It has not been checked yet.",
    states.NO_DATA: "Nothing has been heard of it for too long.",
    states.PENDING: "A check found something; it is not proven yet, and a second check on other prompts decides.",
    states.RECOVERING: "It looks as it did before the alert; the alert stays open until that has held.",
}
# How far something has to move, by its unit; what is counted may not move at all.
_LEVELS = {"nat": f"beyond the lawful {number(LAWFUL_SHIFT, 'nat')} nat", "rate": "beyond its margin"}


def headline(
    checked: EndpointOverview, stand: Stand, state: State, alerts: Sequence[AlertRecord], found: Stands
) -> str:
    """What the page of an endpoint says first; `found` is what stands, with its evidence."""
    if state is states.ERROR:
        alert = next((a for a in alerts if a.state is AlertState.ERROR), None)
        code = alert.finding.get("error") if alert else checked.latest and checked.latest.error_code
        return f"It cannot be asked: {code or 'the check failed'}."
    if state is states.DRIFT:
        return f"It is not what it was: {_drifted(stand, alerts, found)}."
    if state in (states.SUSPECT, states.OK, states.OLD):
        return _stood(stand, state)
    return _PLAIN[state]


def _drifted(stand: Stand, alerts: Sequence[AlertRecord], found: Stands) -> str:
    alert = next((a for a in alerts if a.state is AlertState.FIRING), None)
    if alert is not None:
        return moved(alert)
    named = [f"{one.name} moved by {measured(e.value, e.unit)}" for one, e in found if one in stand.saying]
    return f"{listed(named or stand.names)}, {_when(stand)}"


def _stood(stand: Stand, state: State) -> str:
    by = f"{listed(stand.names)}, {_when(stand)}"
    if state is states.OLD:
        return f"It was ok when it was last judged: {by}."
    if state is states.OK:
        return f"It is what it was: no drift by {by}."
    if all(is_fidelity(one.metric) for one in stand.saying):
        return f"It has not changed, but it is not what it should be: {by}."
    return f"More than chance would do, less than proof: {by}."


def still_standing(stand: Stand, state: State) -> str:
    """What a state that says something else leaves out."""
    if state in (states.DRIFT, states.SUSPECT) or stand.verdict not in (Verdict.DRIFT, Verdict.SUSPECT):
        return ""
    return f"It still stands: {stand.verdict.value} by {listed(stand.names)}, {_when(stand)}."


def _when(stand: Stand) -> str:
    if stand.since is None or stand.at is None:
        return "since then"
    since = f"since {minute(stand.since)} UTC"
    return f"{since}, last found {minute(stand.at)} and nothing newer came in time" if stand.old else since


def listed(names: Sequence[str]) -> str:
    """`logprobs, fidelity and 3 more`."""
    first, rest = names[:_NAMED], names[_NAMED:]
    if rest:
        return f"{', '.join(first)} and {len(rest)} more"
    return " and ".join([", ".join(first[:-1]), first[-1]] if len(first) > 1 else first)


def standing_of_fidelity(evidence: Iterable[EvidenceRecord]) -> str:
    """The standing finding, which is no event: said beside whatever happened last."""
    found = next((e for e in evidence if e.metric == "fidelity" and e.value is not None), None)
    if found is None:
        return ""
    distance = measured(found.value, found.unit, found.interval)
    lawful = found.detail.get("lawful")
    if found.verdict is Verdict.INCONCLUSIVE:
        return f"Its distance to the reference is {distance}, which is too little to conclude anything from."
    if found.verdict is not Verdict.SUSPECT:
        words = "within what its allowed profiles explain"
        return f"Its distance to the reference is {distance}, {words}."
    causes = cause_text(found.causes)
    beyond = "" if lawful is None else f" beyond the lawful {number(lawful, 'nat')},"
    return f"Its distance to the reference is {distance},{beyond} outside every allowed profile" + (
        f"; nearest: {causes}." if causes else "."
    )


def moved(alert: AlertRecord) -> str:
    """`logprobs moved by 0.666 nat; looks like w4-g64 100%`, or what else the alert found."""
    found = Finding.of(alert.finding)
    if alert.watches is Watch.AVAILABILITY:
        return f"no answer: {found.error or 'the checks failed'}"
    if alert.watches is Watch.NO_DATA:
        return "no verdict for too long" + (f", the last one {minute(found.since)} UTC" if found.since else "")
    value = measured(found.value, found.unit or "nat")
    if found.value is None:
        words = f"{alert.metric} moved"
    elif found.unit == "token":
        before = "" if found.baseline is None else f" from {number(found.baseline, 'token', signed=True)}"
        words = f"{alert.metric} moved{before} to {value}"
    else:
        words = f"{alert.metric} moved by {value}"
    causes = cause_text([Cause(name, weight) for name, weight in found.causes])
    return f"{words}; looks like {causes}" if causes else words


def reasons(alert: AlertRecord, now: datetime) -> Iterator[str]:
    """Why an alert is where it is: what was found, and the rule that makes an alert of it."""
    found = Finding.of(alert.finding)
    match alert.watches:
        case Watch.DRIFT:
            yield from _of_drift(alert, found)
        case Watch.AVAILABILITY:
            count = len(found.checks)
            yield f"{count or 'Some'} checks in a row got no verdict, the last one for {found.error or 'an error'}."
            yield "Failed checks say nothing of quality; they are an alert of their own."
        case Watch.NO_DATA:
            if found.since is not None:
                end = alert.resolved_at or now
                yield f"The last verdict came {minute(found.since)} UTC: {span(end - found.since)} without one."
            yield "A schedule expects verdicts; when several intervals pass without any, that is an alert of its own."


def _of_drift(alert: AlertRecord, found: Finding) -> Iterator[str]:
    if alert.fired_at is None:
        yield "One check found it. An alert fires when another check, on other prompts, finds it again."
    else:
        yield f"{len(found.checks) or 2} checks, each on prompts of its own, found that {alert.metric} has moved."
    if found.since is not None and found.until is not None:
        yield f"The change came between {minute(found.since)} and {minute(found.until)} UTC."
    level = _LEVELS.get(found.unit or "nat", "at all")
    yield (
        f"A check calls it drift when chance would do as much with p ≤ {DRIFT_P:g} (adjusted for all tests of the "
        f"check) and it moved {level}."
    )


def size_of(part: CheckRun, found: EvidenceRecord) -> str:
    """How far a run says that a metric has moved; where it cannot say, why, and what it says instead."""
    if found.value is not None:
        return measured(found.value, found.unit, found.interval)
    if found.reason:
        return found.reason
    if found.metric != "logprobs":
        return "the size is not known"
    distance = next((e for e in part.evidence if e.metric == "fidelity" and e.value is not None), None)
    told = "" if distance is None else f"; from the reference: {measured(distance.value, 'nat', distance.interval)}"
    return f"not measured: its prompts are new and have no earlier answers{told}"

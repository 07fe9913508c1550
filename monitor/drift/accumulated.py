"""What the runs of tool-call cases since an endpoint's baseline add up to: faults too small for one run.

The same questions are asked of all answers since the baseline together, by the same rule. They are asked when the runs
have doubled, and each time pays for all times: so the chance of a false alarm is for the whole epoch, however long one
looks. What is found stands beside whatever probes later checks have, and pays for the most of them. Bets on the p of
run after run (`sequential`) would have to hold each run against all before it, as runs that share one baseline are not
independent (DETECTION.md §2.5), and lose a change that stays among its own answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from monitor.drift.family import RATE, answered
from monitor.drift.findings import Finding
from monitor.drift.multiplicity import MOST_SHARES, Family, across_families
from monitor.drift.questions import Question
from monitor.drift.rule import Verdict
from monitor.drift.tool_questions import QUESTIONS, answers_of
from monitor.drift.trigger import Paired
from probes.tools.scored import Scored

# After so many runs all of them are looked at; the last ends the epoch: ten days of hours, eight months of nights.
LOOKS = (2, 4, 8, 16, 32, 64, 128, 256)
EPOCH = LOOKS[-1]
# An hour in which nothing was to be had is no fault of the model that stays.
_FAMILIES = (Family.CONFORMANCE, Family.TRIGGER, Family.ARGUMENTS)
_KEY = 16

# Of each question's cases, by the beginning of their keys, the successes and the answers.
Counts = Mapping[str, Mapping[str, tuple[int, int]]]
_ASKED: Mapping[str, Question[Scored]] = {
    f"{family}.{place}": question for family in _FAMILIES for place, question in enumerate(QUESTIONS[family])
}


@dataclass(frozen=True, slots=True)
class Accumulated:
    """`since` is the run that opened the baseline, `before` what its runs said, `after` what the `runs` after them did.
    `found` is what the last look found, which stands until the next. All of it starts anew with another baseline, and
    with another epoch."""

    since: str
    before: Counts
    after: Counts
    runs: int
    found: Finding

    @classmethod
    def start(cls, since: str, accepted: Iterable[Scored]) -> Accumulated:
        before = _counts(list(accepted))
        nothing = Finding(Verdict.INCONCLUSIVE, f"looked at after {LOOKS[0]} runs", unit=RATE)
        return cls(since, before, {name: {} for name in before}, 0, nothing)

    @property
    def over(self) -> bool:
        return self.runs >= EPOCH

    def with_run(self, now: Sequence[Scored]) -> Accumulated:
        added = replace(self, after=_together(self.after, _counts(now), self.before), runs=self.runs + 1)
        return replace(added, found=added._look()) if added.runs in LOOKS else added

    def on_top_of(self, kept: Accumulated, now: Sequence[Scored]) -> Accumulated:
        """This one, whose last run is `now`, where `kept` is stored by now: another run may have been added since what
        this was made of was read, or have begun the next epoch. Then this run is added to that."""
        if kept.since != self.since or kept.runs == self.runs - 1:
            return self
        if kept.over:
            return self if self.runs == 1 else kept
        return kept.with_run(now)

    def _look(self) -> Finding:
        compared = {
            family: answered(
                [
                    (question, _paired(self.after[name], self.before[name]))
                    for name, question in _ASKED.items()
                    if name.partition(".")[0] == family
                ]
            )
            for family in _FAMILIES
        }
        p_values = {family: found.p_values for family, found in compared.items()}
        adjusted = across_families(p_values, len(LOOKS) * MOST_SHARES)
        findings = {family: found.finding(adjusted.get(family)) for family, found in compared.items()}
        worst = min(findings, key=lambda family: _p(findings[family]))
        verdict = findings[worst].verdict
        if verdict is Verdict.OK and any(found.verdict is not Verdict.OK for found in findings.values()):
            verdict = Verdict.INCONCLUSIVE
        return replace(
            findings[worst],
            verdict=verdict,
            reason=f"{self.runs} runs since the baseline, {worst.value}: {findings[worst].reason}",
        )


def _p(finding: Finding) -> float:
    return 2.0 if finding.adjusted_p is None else finding.adjusted_p


def _counts(answers: Sequence[Scored]) -> Counts:
    return {
        name: {key[:_KEY]: (sum(found), len(found)) for key, found in answers_of(answers, question.success).items()}
        for name, question in _ASKED.items()
    }


def _together(one: Counts, other: Counts, known: Counts) -> Counts:
    """Of the known cases alone: most of a week's are never asked again, and an epoch has many weeks."""
    return {
        name: {
            key: _sum(one[name].get(key), other[name].get(key))
            for key in (*one[name], *other[name])
            if key in known[name]
        }
        for name in one
    }


def _sum(one: tuple[int, int] | None, other: tuple[int, int] | None) -> tuple[int, int]:
    (won, asked), (more, again) = one or (0, 0), other or (0, 0)
    return won + more, asked + again


def _paired(now: Mapping[str, tuple[int, int]], before: Mapping[str, tuple[int, int]]) -> Paired:
    keys = [key for key in now if key in before]
    return Paired.of(*([side[key][part] for key in keys] for side in (now, before) for part in (0, 1)))

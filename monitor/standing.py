"""How an endpoint stands: of everything it was asked the last verdict that says anything, and the worst of these."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from monitor.drift.rule import Verdict, roll_up
from probes.plan import ProbeKind

_SAYING = (Verdict.OK, Verdict.SUSPECT, Verdict.DRIFT)
_MOVED = (Verdict.SUSPECT, Verdict.DRIFT)
_FIDELITY = "fidelity"
# What an endpoint's runs add up to, whatever they ask.
STREAMS = "streams"


@dataclass(frozen=True, slots=True)
class StandingVerdict:
    """What stands of one metric, and of evals of one private suite: `since` when the first of the verdicts in a row
    came that say so, `at` when the last one did. `probe` is the run's, which may find more than its own metric."""

    probe: ProbeKind
    suite: str
    metric: str
    verdict: Verdict
    since: datetime
    at: datetime
    check_id: str
    run_id: str

    @property
    def name(self) -> str:
        return f"{self.metric} of {self.suite}" if self.suite else self.metric


@dataclass(frozen=True, slots=True)
class Expected:
    """The probes that a schedule asks, and after how long without a new verdict the last one of theirs is old."""

    probes: Collection[str] = ()
    within: timedelta = timedelta.max

    def is_old(self, found: StandingVerdict, now: datetime) -> bool:
        return found.probe in self.probes and now - found.at > self.within


NOTHING_EXPECTED = Expected()


@dataclass(frozen=True, slots=True)
class Stand:
    """How an endpoint stands in all: `verdict` is None where nothing was judged yet. `saying` are the verdicts that
    make it so, the longest standing first; `old`: nothing newer came in time for any of them."""

    verdict: Verdict | None = None
    saying: tuple[StandingVerdict, ...] = ()
    old: bool = False

    @property
    def since(self) -> datetime | None:
        """The first of those that found something wrong; where nothing is, when the last of them began to say so."""
        found = [one.since for one in self.saying]
        return min(found, default=None) if self.verdict in _MOVED else max(found, default=None)

    @property
    def at(self) -> datetime | None:
        return max((one.at for one in self.saying), default=None)

    @property
    def names(self) -> list[str]:
        return [one.name for one in self.saying]


def is_fidelity(metric: str) -> bool:
    """Whether it is about what the endpoint should be (`fidelity`, `fidelity.…`), and not about what it was."""
    return metric.partition(".")[0] == _FIDELITY


def followed(held: StandingVerdict | None, new: StandingVerdict) -> StandingVerdict:
    """What stands of a metric once there is a new verdict of it, which takes the place of the one before unless that
    says something and the new one does not."""
    if held is None:
        return replace(new, since=new.at)
    if held.verdict in _SAYING and new.verdict not in _SAYING:
        return held
    return replace(new, since=held.since if held.verdict is new.verdict else new.at)


def stand_of(standing: Iterable[StandingVerdict], expected: Expected, now: datetime) -> Stand:
    """The worst that stands, whichever probe was asked last."""
    found = _vouching(sorted(standing, key=lambda one: (one.since, one.metric, one.suite)))
    if not found:
        return Stand()
    verdicts = {one.verdict for one in found}
    worst = Verdict.INAPPLICABLE if verdicts == {Verdict.INAPPLICABLE} else roll_up(verdicts)
    saying = tuple(one for one in found if one.verdict is worst or worst not in _SAYING)
    return Stand(worst, saying, old=all(expected.is_old(one, now) for one in saying))


def stands_of_probes(standing: Iterable[StandingVerdict], expected: Expected, now: datetime) -> list[tuple[str, Stand]]:
    """How it stands by each thing that was asked (a probe, the fidelity, a private suite), by name."""
    asked: defaultdict[str, list[StandingVerdict]] = defaultdict(list)
    for one in standing:
        asked[replace(one, metric=one.metric.partition(".")[0]).name].append(one)
    return [(name, stand_of(asked[name], expected, now)) for name in sorted(asked)]


def _vouching(found: list[StandingVerdict]) -> list[StandingVerdict]:
    """That streams are as fast as before vouches for nothing else that was asked."""
    return [one for one in found if one.probe is not ProbeKind.LATENCY or one.verdict in _MOVED] or found

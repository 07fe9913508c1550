"""The one decision rule for streams and their endpoint (DETECTION.md §2.5): what e-values show, ask for and alarm.

An endpoint's value is its streams' weighted average. From 100 on it is suspect, and half of what it has won is staked
on an escalation: a process of its own on answers that no stream has seen. Moving winnings between processes keeps a
mean of at most 1, so P(an unchanged endpoint reaches 1,000 within an epoch) ≤ 0.1 %, escalations included.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum, StrEnum

from monitor.drift.evidence import StreamKey, Tier
from monitor.drift.rule import Verdict, roll_up
from monitor.drift.streams import StreamState

SHOWN_AT, SUSPECT_AT, DRIFT_AT = 20.0, 100.0, 1_000.0
# Shares of an endpoint's α: half or more to the tier that is asked every hour, and of which an endpoint has one.
_SHARES = {Tier.LOGPROBS: 8.0, Tier.BORDER: 8.0, Tier.GREEDY: 2.0, Tier.CAPABILITY: 2.0}
_SHARE = 1.0
_STAKED = 0.5


class Level(IntEnum):
    QUIET = 0
    SHOWN = 1
    SUSPECT = 2
    DRIFT = 3


class Event(StrEnum):
    SHOWN = "shown"
    SUSPECTED = "suspected"  # to be escalated: T3 to T5 on independent answers
    DRIFTED = "drifted"
    HELD = "held"  # it would be drift, but our side moved
    QUIETED = "quieted"


def weights(streams: Iterable[StreamKey], only_shown: Collection[StreamKey] = ()) -> dict[StreamKey, float]:
    """Each stream's weight in its endpoint's average, by the tiers the endpoint supports; they sum to 1 and stay as
    they are for the epoch. Streams of one tier share its weight; those that are `only_shown` share one of their own,
    since what cannot alarm would waste it."""
    keys = list(streams)
    of_tier = Counter(key.tier for key in keys if key not in only_shown)
    shares = {
        key: _SHARE / len(only_shown) if key in only_shown else _SHARES.get(key.tier, _SHARE) / of_tier[key.tier]
        for key in keys
    }
    total = sum(shares.values())
    return {key: share / total for key, share in shares.items()}


@dataclass(frozen=True, slots=True)
class Average:
    """An endpoint's average at one look. `proven` counts only calibrated streams, the others as 1: more than being
    shown hangs on it. `value` takes what each shows."""

    value: float
    proven: float

    @classmethod
    def of(cls, streams: Collection[StreamState], weighing: Mapping[StreamKey, float]) -> Average:
        return cls(
            sum(weighing[one.key] * one.shown for one in streams),
            sum(weighing[one.key] * (one.value if one.calibrated else 1.0) for one in streams),
        )


@dataclass(frozen=True, slots=True)
class EndpointState:
    """`units` of the streams' average are held, and `staked` was put into the open escalation (0: none is). `held`: why
    what is proven is not called drift. Drift stays for the epoch."""

    level: Level = Level.QUIET
    units: float = 1.0
    staked: float = 0.0
    held: str | None = None

    def worth(self, price: float, escalated: float) -> float:
        return self.units * price + self.staked * escalated


@dataclass(frozen=True, slots=True)
class Looked:
    state: EndpointState
    events: tuple[Event, ...]


def look(state: EndpointState, average: Average, escalated: float = 1.0, our_side: str | None = None) -> Looked:
    """The next state. escalated: the value of the open escalation's own process, 1 before its first answers; our_side:
    why our own side is taken to have moved, which holds a drift back while it is so."""
    worth = state.worth(average.proven, escalated)
    proven = state.level is Level.DRIFT or worth >= DRIFT_AT
    holding = our_side if proven and state.level is not Level.DRIFT else None
    shown = max(worth, state.worth(average.value, escalated)) >= SHOWN_AT
    level = Level.DRIFT if proven and holding is None else _level(state, worth, shown=shown)
    after = replace(state, level=level, held=holding)
    if level is Level.SUSPECT and state.level < Level.SUSPECT and not state.staked:
        after = _escalated(after, average)
    return Looked(after, tuple(_events(state, after)))


def _level(state: EndpointState, worth: float, *, shown: bool) -> Level:
    """A suspicion stays until it is not even shown, so that one does not escalate twice."""
    if worth >= SUSPECT_AT or (state.level is Level.SUSPECT and shown):
        return Level.SUSPECT
    return Level.SHOWN if shown else Level.QUIET


def _escalated(state: EndpointState, average: Average) -> EndpointState:
    staked = _STAKED * state.units * average.proven
    return replace(state, units=(1.0 - _STAKED) * state.units, staked=staked)


def _events(before: EndpointState, after: EndpointState) -> Iterable[Event]:
    if after.held is not None and before.held is None:
        yield Event.HELD
    if after.level > before.level:
        yield {Level.SHOWN: Event.SHOWN, Level.SUSPECT: Event.SUSPECTED, Level.DRIFT: Event.DRIFTED}[after.level]
    elif after.level < before.level and after.level is Level.QUIET:
        yield Event.QUIETED


def closed(state: EndpointState, average: Average, escalated: float) -> EndpointState:
    """The escalation's answers are all in: what became of its stake goes back into the streams' average."""
    if not average.proven:
        return state
    return replace(state, units=state.units + state.staked * escalated / average.proven, staked=0.0)


def our_side(control: StreamState | None, expected: str, found: str) -> str | None:
    """Why our own side is taken to have moved. A reference that is bitwise the same has no variance: its fingerprint is
    compared; the control stream is of prompts that a remote one is asked every round."""
    if found != expected:
        return f"our side moved: the reference's fingerprint is {found}, and was {expected}"
    if control is not None and control.value >= SUSPECT_AT:
        return f"our side moved: the same prompts to the reference reached {control.value:.0f}"
    return None


def stream_verdict(state: StreamState) -> Verdict:
    if state.why_not is not None:
        return Verdict.INAPPLICABLE
    if state.process is None or not state.calibrated:
        return Verdict.INCONCLUSIVE
    if state.value >= DRIFT_AT:
        return Verdict.DRIFT
    return Verdict.SUSPECT if state.value >= SUSPECT_AT else Verdict.OK


def endpoint_verdict(state: EndpointState, streams: Iterable[StreamState]) -> Verdict:
    """By the endpoint's own level; without a suspicion, what its streams have come to."""
    if state.level is Level.DRIFT:
        return Verdict.DRIFT
    if state.level is Level.SUSPECT:
        return Verdict.SUSPECT
    found = {stream_verdict(one) for one in streams}
    if found == {Verdict.INAPPLICABLE}:
        return Verdict.INAPPLICABLE
    return roll_up(found & {Verdict.OK})

"""Where a stream stands within its epoch: what it waits for, why it says nothing, or what it bets against."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from enum import StrEnum

from monitor.drift.count_stream import CountStream
from monitor.drift.levels import BLOCKS, DAY, FEWEST_BLOCKS, Levels
from monitor.drift.score_stream import ScoreStream, day_of
from monitor.drift.streams import StreamState


class Phase(StrEnum):
    WAITING = "waiting"  # nothing was said of it yet
    INAPPLICABLE = "inapplicable"
    CALIBRATING = "calibrating"  # ranks are bet on until there are levels, and are shown at most
    BETTING = "betting"


@dataclass(frozen=True, slots=True)
class StreamStanding:
    """`reason` is why nothing is said, or why there are no levels yet. Levels are looked for `since`, and come at
    `until` at the earliest, where that can be told; both are seconds since 1970."""

    phase: Phase
    reason: str = ""
    since: float | None = None
    until: float | None = None

    @classmethod
    def of(cls, state: StreamState) -> StreamStanding:
        if state.why_not is not None:
            return cls(Phase.INAPPLICABLE, state.why_not)
        process = state.process
        if isinstance(process, ScoreStream) and process.bets is None:
            since = process.past[0].at if process.past else state.epoch.opened_at
            reason = process.calibration.reason if process.calibration else ""
            return cls(Phase.CALIBRATING, reason, since, earliest_levels(process))
        if isinstance(process, CountStream) and process.lawful is None:
            since = process.past[0].at if process.past else state.epoch.opened_at
            return cls(Phase.CALIBRATING, process.waits_for, since)
        return cls(Phase.WAITING if process is None else Phase.BETTING)


def levels_of(state: StreamState) -> Levels | None:
    """Those it bets against; None where its null needs none, or there are none yet."""
    process = state.process
    if isinstance(process, CountStream):
        return process.lawful
    if not isinstance(process, ScoreStream) or process.bets is None or process.calibration is None:
        return None
    return process.calibration.levels


def earliest_levels(stream: ScoreStream) -> float | None:
    """The first time at which a round may find levels, if none of the days to come is left out: as many days as are
    needed lie before it. None where there are levels or days enough, so that something else is in the way."""
    if stream.bets is not None or not stream.past:
        return None
    blocks: defaultdict[int, set[int]] = defaultdict(set)
    for one in stream.past:
        blocks[day_of(one.at)].add(int(one.at % DAY * BLOCKS // DAY))
    today = max(blocks)
    counted = sum(len(seen) >= FEWEST_BLOCKS for day, seen in blocks.items() if day < today)
    if counted >= stream.rule.days:
        return None
    seen = blocks[today]
    may_count = len(seen | set(range(max(seen), BLOCKS))) >= FEWEST_BLOCKS
    return (today + 1 + stream.rule.days - counted - may_count) * DAY

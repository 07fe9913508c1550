"""After a drift: is what came since a regime of its own, steady for 72 hours at all hours, and so the next baseline?

That the change was one stays; only what "unchanged" means from now on is another (DETECTION.md §2.5). What cannot be
told from a move is waited for, or a person accepts it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from monitor.drift.anchors import WHITENED
from monitor.drift.calibration import unsteady_p
from monitor.drift.decision import SUSPECT_AT, Level
from monitor.drift.endpoint_streams import EndpointStreams
from monitor.drift.evidence import StreamKey
from monitor.drift.levels import BLOCKS, DAY, DAYS, Calibration, Noise
from monitor.drift.observation import FloatArray
from monitor.drift.onset import onset
from monitor.drift.score_stream import Round, ScoreStream, StreamRule
from monitor.drift.streams import StreamState

SETTLED = 3 * DAY
_BLOCK = DAY / BLOCKS
# Of the rounds that are planned for a block.
_FILLED = 0.5
_UNSTEADY_P = 0.005
_DRAWS = 1_999
# Blocks are never taken to differ by less than this share of δ: fewer bits than that are no evidence of a move.
_LEAST_NOISE = 0.25


@dataclass(frozen=True, slots=True)
class Settled:
    """The regime's first and last moment, in seconds since 1970, and its rounds, of every stream of scores."""

    since: float
    until: float
    baselines: Mapping[StreamKey, tuple[Round, ...]]


def settled(
    now: EndpointStreams, rounds: Mapping[StreamKey, Sequence[Round]], drifted_at: float, at: float
) -> Settled | None:
    """What an endpoint in drift has settled to; None where it is not, or where that is not shown.

    rounds: of the epoch's streams of scores, in order of time; drifted_at: when drift was said; at: now. The regime is
    all that came since the onset, or where something moved within that, the last 72 hours.

    Every stream of scores that is asked in all six-hour blocks has to be steady; those asked more rarely go along, and
    those that say nothing any more are left out. Whitened lengths go along too: they are 0 while nothing changes, which
    tells nothing of how much they differ after a change, and the same answers have other scores. A stream with a null
    of its own (a sampler's, the reference's) has no baseline that rounds could replace: where one is suspect nothing
    settles.
    """
    states = now.streams.values()
    scored = [one for one in states if isinstance(one.process, ScoreStream) and one.inapplicable is None]
    others = [one for one in states if not isinstance(one.process, ScoreStream) and one.calibrated]
    asked_often = [one for one in scored if one.rule.rounds_a_day >= BLOCKS and one.key.probe_set != WHITENED]
    if now.state.level is not Level.DRIFT or not asked_often or any(one.value >= SUSPECT_AT for one in others):
        return None
    since = _began(now, scored, rounds, drifted_at)
    for start in dict.fromkeys((since, max(since, at - SETTLED))):
        regime = {one.key: _between(rounds.get(one.key, ()), start, at) for one in scored}
        if at - SETTLED >= start and all(unsettled(regime[one.key], one, start, at) is None for one in asked_often):
            return Settled(start, at, regime)
    return None


def unsettled(rounds: Sequence[Round], state: StreamState, since: float, until: float) -> str | None:
    """Why the rounds of this time are no steady regime of a stream; None where they are.

    From fourteen days on, days may differ as they like: `calibration.unsteady_p`, which with fewer than eleven cannot
    show a move. Before, blocks and days differ by the noise that the stream's levels were made of, and no more.
    """
    means = _block_means(rounds, state.rule, since, until)
    if means is None:
        return "too little was asked in some six hours"
    days = len(means) // BLOCKS
    found = _calibration(state)
    if days >= DAYS:
        p = unsteady_p(means[-days * BLOCKS :].reshape(days, BLOCKS).mean(axis=1))
    elif found is None or found.noise is None:
        return f"its noise is not known, so that {DAYS} days are needed"
    else:
        p = moved_p(means, found.noise, until, _LEAST_NOISE * state.rule.delta)
    return f"it moved within (p {p:.4f})" if p <= _UNSTEADY_P else None


def moved_p(means: FloatArray, noise: Noise, until: float, least: float) -> float:
    """p that the level of six-hour blocks, the last one up to `until`, moved once somewhere: the largest difference of
    the means before and after any split, over its deviation, among draws in which days and blocks within them differ
    by normal noise as large as was lawful; at least `least` a block."""
    size = means.size
    day = np.floor((until - (np.arange(size)[::-1] + 0.5) * _BLOCK) / DAY).astype(np.int64)
    of_days = np.sqrt(max(0.0, noise.days**2 - noise.blocks**2 / BLOCKS))
    rng = np.random.default_rng(0)
    drawn = max(noise.blocks, least) * rng.standard_normal((_DRAWS, size))
    drawn += of_days * rng.standard_normal((_DRAWS, int(day[-1] - day[0]) + 1))[:, day - day[0]]
    splits = _splits(drawn)
    deviations = splits.std(axis=0)
    largest = np.abs(splits / deviations).max(axis=1)
    found = np.abs(_splits(means[np.newaxis]) / deviations).max()
    return float((1 + np.count_nonzero(largest >= found)) / (1 + _DRAWS))


def _splits(blocks: FloatArray) -> FloatArray:
    """Mean before less mean after, for every split with two blocks or more on either side."""
    size = blocks.shape[1]
    before = np.arange(2, size - 1)
    sums = np.cumsum(blocks - blocks.mean(axis=1, keepdims=True), axis=1)[:, 1:-2]
    return np.asarray(sums * size / (before * (size - before)))


def _block_means(rounds: Sequence[Round], rule: StreamRule, since: float, until: float) -> FloatArray | None:
    """Of the whole blocks that end with `until`, in order of time; None where one has too few rounds."""
    blocks = int((until - since) / _BLOCK + 1e-6)  # 72 hours are twelve, whatever a float makes of them
    at, scores = np.array(rounds, dtype=np.float64).reshape(-1, 2).T
    back = np.floor((until - at) / _BLOCK).astype(np.int64)
    whole = (back >= 0) & (back < blocks)
    count = np.bincount(back[whole], minlength=blocks)
    if blocks < SETTLED // _BLOCK or (count < np.ceil(_FILLED * rule.rounds_a_day / BLOCKS)).any():
        return None
    return np.asarray((np.bincount(back[whole], weights=scores[whole], minlength=blocks) / count)[::-1])


def _calibration(state: StreamState) -> Calibration | None:
    return state.process.calibration if isinstance(state.process, ScoreStream) else None


def _began(
    now: EndpointStreams, scored: Sequence[StreamState], rounds: Mapping[StreamKey, Sequence[Round]], drifted_at: float
) -> float:
    """The latest start that explains, as well as the likeliest, what the stream saw that won most; without levels to
    bet against, when drift was said."""
    leading = max(scored, key=lambda one: one.value)
    found = _calibration(leading)
    if found is None or found.levels is None:
        return drifted_at
    began = onset(_between(rounds.get(leading.key, ()), now.epoch.opened_at, drifted_at), found.levels.hourly)
    return drifted_at if began is None else began.until


def _between(rounds: Sequence[Round], since: float, until: float) -> tuple[Round, ...]:
    return tuple(one for one in rounds if since <= one.at <= until)

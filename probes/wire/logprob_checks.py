"""What is odd about an answer's log-probabilities, each oddity by its own test."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from probes.quirks import Quirk
from probes.wire.asked import Asked
from probes.wire.token_logprobs import INVALID_ABOVE, Position, Reading, Shape

# Two prints of the same value may differ in the last digits that a server keeps.
_SAME_VALUE = 1e-4
# At temperature 0 a nearer tie may flip lawfully from one batch to the next.
_TIE = 0.1
_REPEATED = 3
# Servers round: a handful of values with two decimals add up to one within this.
_SUM_TOLERANCE = 0.01
# Without a list beside it, exactly 0.0 may be a token that could not be another; hardly for a whole answer.
_CERTAIN_POSITIONS = 3


def logprob_quirks(positions: Sequence[Position], shape: Shape, asked: Asked) -> set[Quirk]:
    """The quirks of the log-probabilities that came; `positions` is not empty."""
    readings = [reading for position in positions for reading in (position.sampled, *(position.top or ()))]
    values = [reading.value for reading in readings if reading.value is not None]
    names = [reading.name for reading in readings]
    # With echo the first token of the prompt follows nothing: its null is in contract.
    followed = positions[1:] if asked.echo and positions[0].sampled.value is None else positions
    places = [_Place(position, _same_in_top(position)) for position in followed]
    found = {
        Quirk.LP_LEGACY_SHAPE: shape is Shape.COMPLETIONS and asked.chat,
        Quirk.LP_CHAT_SHAPE_ON_COMPLETIONS: shape is Shape.CHAT and not asked.chat,
        Quirk.LP_MISSING_BYTES: shape is Shape.CHAT and not all(reading.has_bytes for reading in readings),
        Quirk.LP_BYTES_REPLACEMENT: any(name.identity is None for name in names),
        Quirk.LP_VOCAB_MARKER: any(name.marked for name in names),
        Quirk.LP_POSITIVE: max(values, default=0.0) > INVALID_ABOVE,
        Quirk.LP_SENTINEL: any(_has_sentinel(position) for position in followed),
        Quirk.LP_TOPK_SHORT: any(_is_short(position, asked) for position in followed),
        Quirk.LP_SAMPLED_NOT_IN_TOP: any(_misses_its_own(place) for place in places),
        Quirk.LP_INCONSISTENT_SAMPLED: any(_contradicts_itself(place, asked) for place in places),
        Quirk.LP_REPEATED_POSITION: _repeats_a_list(followed),
    }
    return {quirk for quirk, seen in found.items() if seen} | _processed(places, asked)


@dataclass(frozen=True, slots=True)
class _Place:
    """A position, and the sampled token where it is in the list of its alternatives."""

    position: Position
    same: list[Reading]


def _same_in_top(position: Position) -> list[Reading]:
    identity, token = position.sampled.name.identity, position.sampled.name.token
    return [one for one in position.top or () if one.name.identity == identity or one.name.token == token]


def _has_sentinel(position: Position) -> bool:
    return position.sampled.censored or any(reading.censored for reading in position.top or ())


def _is_short(position: Position, asked: Asked) -> bool:
    return asked.top is not None and len(position.top or ()) < asked.top


def _misses_its_own(place: _Place) -> bool:
    position = place.position
    return bool(position.top) and position.sampled.name.identity is not None and not place.same


def _contradicts_itself(place: _Place, asked: Asked) -> bool:
    position, sampled = place.position, place.position.sampled.value
    if sampled is None or not position.top or position.sampled.name.identity is None:
        return False
    same = [abs(reading.value - sampled) for reading in place.same if reading.value is not None]
    if same and min(same) > _SAME_VALUE:
        return True
    if asked.echo:  # the tokens of the prompt were given, not taken
        return False
    leader = max([reading.value for reading in position.top if reading.value is not None], default=sampled)
    return asked.greedy and leader - sampled > _TIE


def _repeats_a_list(positions: Sequence[Position]) -> bool:
    start = 0
    for here in range(1, len(positions) + 1):
        if here < len(positions) and positions[here].top == positions[start].top:
            continue
        sampled = {position.sampled.name.token for position in positions[start:here]}
        if here - start >= _REPEATED and positions[start].top and len(sampled) > 1:
            return True
        start = here
    return False


def _processed(places: Sequence[_Place], asked: Asked) -> set[Quirk]:
    """Whether the values were taken after temperature or top-p."""
    positions = [place.position for place in places]
    if all(map(_is_certain, places)) and places:
        if any(map(_has_sentinel, positions)):
            return {Quirk.LP_PROCESSED}
        if (asked.top and any(position.top for position in positions)) or len(positions) >= _CERTAIN_POSITIONS:
            return {Quirk.LP_PROCESSED_SUSPECT}
    short = [position for position in positions if _is_short(position, asked) and position.top]
    cut = asked.nucleus and bool(short) and all(map(_sums_to_one, short))
    return {Quirk.LP_PROCESSED_SUSPECT} if cut else set()


def _is_certain(place: _Place) -> bool:
    """The sampled token has all the mass, and no other token any that is known."""
    position = place.position
    return position.sampled.value == 0.0 and all(
        reading in place.same or reading.censored for reading in position.top or ()
    )


def _sums_to_one(position: Position) -> bool:
    known = [reading.value for reading in position.top or () if reading.value is not None and not reading.censored]
    return abs(math.fsum(math.exp(min(value, 1.0)) for value in known) - 1.0) <= _SUM_TOLERANCE

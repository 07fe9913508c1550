"""Which call of an answer stands for which expected one."""

from __future__ import annotations

from collections.abc import Sequence

from probes.tools.case import ExpectedCall
from probes.tools.ladder import Climb
from probes.tools.matchers import LeafMatch, compare

# As many of an answer's calls are looked at: one with more is wrong whatever they say.
MAX_CALLS = 32


def nothing_of(expected: ExpectedCall) -> LeafMatch:
    """The match of an expected call that did not come."""
    return LeafMatch(0, len(expected.args) or 1)


def match_of(expected: ExpectedCall, call: Climb) -> LeafMatch | None:
    """How well `call` stands for `expected`; None where it calls another tool."""
    if call.name != expected.name:
        return None
    arguments = call.lenient.arguments
    return nothing_of(expected) if arguments is None else compare(expected, arguments)


def in_order(expected: Sequence[ExpectedCall], calls: Sequence[Climb]) -> list[int | None]:
    """For each expected call the one in its place, where it calls the same tool."""
    return [
        position if position < len(calls) and calls[position].name == wanted.name else None
        for position, wanted in enumerate(expected)
    ]


def in_any_order(expected: Sequence[ExpectedCall], calls: Sequence[Climb]) -> list[int | None]:
    """For each expected call the one that stands for it best, all taken together (Hungarian method, on name and
    leaves)."""
    weights = [[_weight(wanted, call) for call in calls[:MAX_CALLS]] for wanted in expected]
    if len(expected) <= 1 or len(calls) <= 1:
        return _best_alone(weights)
    from scipy.optimize import linear_sum_assignment  # 40 MB that single calls do without

    found: list[int | None] = [None] * len(expected)
    for row, column in zip(*linear_sum_assignment(weights, maximize=True), strict=True):
        if weights[row][column] > 0:
            found[row] = int(column)
    return found


def _best_alone(weights: Sequence[Sequence[float]]) -> list[int | None]:
    """As the Hungarian method finds it where one side is a single call."""
    found: list[int | None] = [None] * len(weights)
    places = [(weight, -row, -column) for row, line in enumerate(weights) for column, weight in enumerate(line)]
    weight, row, column = max(places, default=(0.0, 0, 0))
    if weight > 0:
        found[-row] = -column
    return found


def _weight(expected: ExpectedCall, call: Climb) -> float:
    match = match_of(expected, call)
    return 0.0 if match is None else 1.0 + match.share

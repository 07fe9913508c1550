"""Questions to the answers of two sides, case by case: which are a success, how much is no matter, which tests."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from monitor.drift.failures import fisher, more_failures
from monitor.drift.ternary import Margin
from monitor.drift.trigger import Paired

T = TypeVar("T")

# Availability has no margin in PROBES.md: what a team would call an outage.
AVAILABLE = Margin(0.02)


class Asked(NamedTuple):
    """A test's p. bounded: it asks for the difference of the two rates, which is no matter unless it is beyond the
    margin; otherwise for single cases that moved, which may cancel out."""

    p: float
    bounded: bool = True


@dataclass(frozen=True, slots=True)
class Question(Generic[T]):
    """What it `asks` for the share of, which answers are a success, the margin within which a difference is no matter,
    and the tests that ask for a change."""

    asks: str
    success: Callable[[T], bool | None]
    margin: Margin
    tests: Callable[[Paired], Sequence[Asked]]


def successes(
    answers: Iterable[T], success: Callable[[T], bool | None], case_of: Callable[[T], str]
) -> dict[str, list[bool]]:
    """Of each case which answers are a success; those of which there is nothing to say are not there."""
    found: dict[str, list[bool]] = defaultdict(list)
    for answer in answers:
        if (right := success(answer)) is not None:
            found[case_of(answer)].append(right)
    return dict(found)


def paired(
    now: Iterable[T], other: Iterable[T], success: Callable[[T], bool | None], case_of: Callable[[T], str]
) -> Paired:
    """Successes of each case on both sides."""
    ours, theirs = successes(now, success, case_of), successes(other, success, case_of)
    keys = [key for key in ours if key in theirs]
    x, y = [ours[key] for key in keys], [theirs[key] for key in keys]
    return Paired.of([sum(one) for one in x], [len(one) for one in x], [sum(one) for one in y], [len(one) for one in y])


def failures(found: Paired) -> Paired:
    return Paired(found.r_x - found.x, found.r_x, found.r_y - found.y, found.r_y)


def more_fail(found: Paired) -> Sequence[Asked]:
    return (Asked(more_failures(failures(found))),)


def more_tries_fail(found: Paired) -> Sequence[Asked]:
    """Tries fail whatever they ask, and many at a time: p holds where each fails by itself."""
    failed = failures(found)
    counts = (int(each.sum()) for each in (failed.x, failed.r_x, failed.y, failed.r_y))
    return (Asked(fisher(*counts)),)

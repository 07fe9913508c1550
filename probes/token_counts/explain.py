"""Says why an endpoint's counts of its prompts differ from the reference's, where one thing explains them all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from probes.token_counts.renderings import REFERENCE, TOOLS_LEFT_OUT, PromptCount

# Fewer counts agree with something by chance.
LEAST_COUNTS = 3
# Two lists of tools of different lengths: a server that tells of them in any words counts one of them otherwise.
_LEAST_UNTOLD = 2

Holds = Callable[[PromptCount], bool]


@dataclass(frozen=True, slots=True)
class Explanation:
    """`extra` is the constant number of tokens that it leaves over, in each request that it says so of."""

    name: str
    extra: int = 0


EXACT = Explanation("exact")


def explanations(counts: Sequence[PromptCount]) -> tuple[Explanation, ...]:
    """Everything that explains every count of which one is expected, the simplest first; nothing where nothing does,
    or where fewer than LEAST_COUNTS are expected.

    One explanation is as good as another where no request tells them apart: one token more may be a start token said
    twice or a hidden prompt of one.
    """
    known = [count for count in counts if count.expected is not None]
    return tuple(dict.fromkeys(_found(known))) if len(known) >= LEAST_COUNTS else ()


def untold_tools(counts: Sequence[PromptCount]) -> int:
    """Requests whose tools no template of the reference writes, counted as if they brought none: the model is not told
    of them. 0 where any such request is counted otherwise, or there are too few."""
    theirs = [count for count in counts if count.expected is None and TOOLS_LEFT_OUT in count.renderings]
    untold = [count for count in theirs if count.renderings[TOOLS_LEFT_OUT] == count.reported]
    return len(untold) if len(untold) == len(theirs) >= _LEAST_UNTOLD else 0


def _found(counts: Sequence[PromptCount]) -> Iterator[Explanation]:
    extra = _constant(counts, REFERENCE)
    if extra == 0:
        yield EXACT
        return
    named = sorted({name for count in counts for name in count.renderings} - {REFERENCE})
    shifts = {name: _constant(counts, name) for name in named}
    yield from (Explanation(name) for name, shift in shifts.items() if shift == 0)
    if extra is not None:
        yield from _of_all(extra)
        return
    yield from _of_some(counts)
    yield from (Explanation(name, shift) for name, shift in shifts.items() if shift)


def _of_all(extra: int) -> Iterator[Explanation]:
    if extra == 1:
        yield Explanation("start token said twice", extra)
    if extra == -1:
        yield Explanation("start token left out", extra)
    yield Explanation("hidden system prompt" if extra > 0 else "part of the template left out", extra)


def _of_some(counts: Sequence[PromptCount]) -> Iterator[Explanation]:
    """Differences that are the same wherever there is no system message, or wherever there are tools, and none else."""
    without_system = _only_where(counts, lambda count: not count.has_system)
    if without_system:
        added = without_system > 0
        yield Explanation(f"default system prompt {'added' if added else 'left out'}", without_system)
    with_tools = _only_where(counts, lambda count: count.has_tools)
    if with_tools:
        yield Explanation("tools introduced by other words", with_tools)
    elif all(_difference(count, REFERENCE) == 0 for count in counts if not count.has_tools) and any(
        count.has_tools for count in counts
    ):
        yield Explanation("tools written in another form")


def _only_where(counts: Sequence[PromptCount], holds: Holds) -> int | None:
    inside = {_difference(count, REFERENCE) for count in counts if holds(count)}
    outside = {_difference(count, REFERENCE) for count in counts if not holds(count)}
    return inside.pop() if len(inside) == 1 and outside == {0} else None


def _constant(counts: Sequence[PromptCount], rendering: str) -> int | None:
    differences = {_difference(count, rendering) for count in counts}
    return differences.pop() if len(differences) == 1 else None


def _difference(count: PromptCount, rendering: str) -> int:
    """A rendering that does not bear on a request leaves it as the reference writes it."""
    return count.reported - count.renderings.get(rendering, count.renderings[REFERENCE])

"""The instances of one epoch: which families each category has, how many, how often asked, and which of them stay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from probes.grammar import Draw
from probes.tools.case import Case, Category
from probes.tools.families import (
    ambiguous,
    cut_off,
    empty_arguments,
    escape_traps,
    history,
    must_call,
    must_not_call,
    nested,
    parallel,
    reasoning,
    response_format,
    selection,
    tool_choice,
    type_traps,
    verbatim,
)
from probes.tools.families.question import Family, RightAnswer
from probes.tools.families.reasoning import Switch

# Raised whenever a family makes another question of the same draw: the anchors are new ones then.
FAMILIES_VERSION = "1"

CANDIDATES = 400
AMBIGUOUS, AMBIGUOUS_REPS = 60, 8


@dataclass(frozen=True, slots=True)
class Instance:
    """A case, and an answer to it that is right."""

    case: Case
    answer: RightAnswer


@dataclass(frozen=True, slots=True)
class Share:
    """One row of PROBES.md 5.1: `n` instances of a category, each asked `reps` times."""

    category: Category
    n: int
    reps: int
    families: tuple[Family, ...]

    def instances(self, seed: bytes, epoch: int) -> list[Instance]:
        """Slot by slot: anchors are the same in each epoch, the others of this epoch only."""
        anchors = self.anchors(seed)
        return [self._instance(seed, slot, None if slot in anchors else epoch) for slot in range(self.n)]

    def anchors(self, seed: bytes) -> frozenset[int]:
        """The slots that stay: a fifth of them, one at least."""
        slots = Draw(seed, "tool-anchors", FAMILIES_VERSION, self.category).shuffled(range(self.n))
        return frozenset(slots[: _anchors_of(self.n)])

    def _instance(self, seed: bytes, slot: int, epoch: int | None) -> Instance:
        family = self.families[slot % len(self.families)]
        when = "anchor" if epoch is None else epoch
        draw = Draw(seed, "tool-case", FAMILIES_VERSION, self.category, family.name, slot, when)
        return _instance(self.category, family, draw, self.reps, anchor=epoch is None)


def shares(switch: Switch | None = None) -> tuple[Share, ...]:
    """Every category but T3, whose instances calibration chooses, and T15, which is not made of single answers."""
    return (
        Share(Category.T1, 20, 5, must_call.FAMILIES),
        Share(Category.T2, 20, 5, must_not_call.FAMILIES),
        Share(Category.T4, 20, 5, selection.FAMILIES),
        Share(Category.T5, 30, 5, nested.FAMILIES),
        Share(Category.T6, 20, 5, type_traps.FAMILIES),
        Share(Category.T7, 20, 5, escape_traps.FAMILIES),
        Share(Category.T8, 6, 5, empty_arguments.FAMILIES),
        Share(Category.T9, 12, 5, parallel.FAMILIES),
        Share(Category.T10, 10, 5, tool_choice.FAMILIES),
        Share(Category.T11, 6, 3, verbatim.FAMILIES),
        Share(Category.T12, 4, 3, cut_off.FAMILIES),
        Share(Category.T13, 8, 3, reasoning.families(switch)),
        Share(Category.T14, 10, 3, history.FAMILIES),
        Share(Category.T16, 8, 3, response_format.FAMILIES),
    )


def instances(
    seed: bytes, epoch: int, *, pool: Sequence[Instance] | None = None, switch: Switch | None = None
) -> tuple[Instance, ...]:
    """All instances of an epoch. T3's are taken from `pool`, the candidates that calibration kept; where there was no
    calibration, from all candidates. With a `switch`, reasoning is asked for and forbidden too."""
    drawn = [one for share in shares(switch) for one in share.instances(seed, epoch)]
    return (*drawn, *_ambiguous(seed, epoch, candidates(seed) if pool is None else pool))


def candidates(seed: bytes, generation: int = 0) -> tuple[Instance, ...]:
    """What calibration chooses T3's instances from; a new generation holds none of the one before."""
    found = []
    for slot in range(CANDIDATES):
        family = ambiguous.FAMILIES[slot % len(ambiguous.FAMILIES)]
        draw = Draw(seed, "tool-candidate", FAMILIES_VERSION, family.name, generation, slot)
        found.append(_instance(Category.T3, family, draw, AMBIGUOUS_REPS, anchor=False))
    return tuple(found)


def _ambiguous(seed: bytes, epoch: int, pool: Sequence[Instance]) -> list[Instance]:
    """Anchors, and as many others as an epoch has, in turn: an instance comes back only when all others have been."""

    def rank(one: Instance) -> int:
        return Draw(seed, "tool-pool", FAMILIES_VERSION, one.case.key).below(2**32)

    # Each one's rank is its own, so that a pool that loses some keeps the order of the rest.
    order = sorted(pool, key=rank)
    stay, turn = order[: _anchors_of(AMBIGUOUS)], order[_anchors_of(AMBIGUOUS) :]
    fresh = min(AMBIGUOUS - len(stay), len(turn))
    taken = [turn[(epoch * fresh + place) % len(turn)] for place in range(fresh)]
    return [*(replace(one, case=replace(one.case, anchor=True)) for one in stay), *taken]


def _anchors_of(n: int) -> int:
    return max(1, round(n / 5))


def _instance(category: Category, family: Family, draw: Draw, reps: int, *, anchor: bool) -> Instance:
    made = family.make(draw)
    case = Case(category, family.name, made.request, made.oracle, anchor=anchor, reps=reps, formats=made.formats)
    return Instance(case, made.answer)

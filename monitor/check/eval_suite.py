"""A private suite as a check takes it: its items, how often each is asked, and the plan of that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import ceil

from probes.evals.grade import Graded
from probes.evals.item import EvalItem, GraderKind
from probes.plan import Item, Plan, ProbeKind

MOST_REPS = 100


@dataclass(frozen=True, slots=True)
class EvalSuite:
    """A version of a suite, opened. Nothing of its items is in its representation. `graded` is what an earlier run left
    that this one goes on with."""

    name: str
    version: int
    sha256: str
    items: tuple[EvalItem, ...] = field(repr=False)
    reps: int = 1
    graded: tuple[Graded, ...] = ()

    @property
    def asks(self) -> int:
        """How many answers are still to come."""
        return len(_missing(self))


@dataclass(frozen=True, slots=True)
class EvalPlan:
    """`items` goes by item key, which is the item's hash. `graded` is what is not asked again, and `whole` the plan
    with that in it."""

    plan: Plan
    items: Mapping[str, EvalItem] = field(repr=False)
    graded: tuple[Graded, ...] = ()
    whole: Plan = field(init=False)

    def __post_init__(self) -> None:
        before = (_item(self.items[one.item], one.rep) for one in self.graded)
        everything = sorted((*before, *self.plan.items), key=_place)
        object.__setattr__(self, "whole", replace(self.plan, items=tuple(everything)))

    @property
    def needs_judge(self) -> bool:
        return any(item.grader.kind is GraderKind.JUDGE for item in self.items.values())


def eval_plan(suite: EvalSuite, part: float = 1.0) -> EvalPlan:
    """Every item once, then every item again, as often as the suite is to be asked; of that the `part` at the front.

    Items stand in the order of their hashes: whatever their file's order, each stretch is a fair share of the suite,
    and two runs that stop early have asked the same.
    """
    missing = _missing(suite)
    kept = tuple(missing[: ceil(len(missing) * part)])
    plan = Plan(ProbeKind.EVALS, kept, suite.sha256, f"{suite.name}/{suite.version}")
    return EvalPlan(plan, {item.sha256: item for item in suite.items}, suite.graded)


def suite_name(plan: Plan) -> str:
    """The suite that a plan of evals asks."""
    return plan.suite_version.partition("/")[0]


def _missing(suite: EvalSuite) -> list[Item]:
    known = {(one.item, one.rep) for one in suite.graded}
    wanted = [_item(item, rep) for rep in range(suite.reps) for item in suite.items if (item.sha256, rep) not in known]
    return sorted(wanted, key=_place)


def _place(item: Item) -> tuple[int, str]:
    return item.rep, item.key


def _item(item: EvalItem, rep: int) -> Item:
    return Item(item.sha256, rep, item.request, anchor=True, private=True)

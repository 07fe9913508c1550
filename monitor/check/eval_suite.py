"""A private suite as a check takes it: its items, how often each is asked, and the plan of that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil

from probes.evals.item import EvalItem
from probes.plan import Item, Plan, ProbeKind

MOST_REPS = 100


@dataclass(frozen=True, slots=True)
class EvalSuite:
    """A version of a suite, opened. Nothing of its items is in its representation."""

    name: str
    version: int
    sha256: str
    items: tuple[EvalItem, ...] = field(repr=False)
    reps: int = 1


@dataclass(frozen=True, slots=True)
class EvalPlan:
    """`items` goes by item key, which is the item's hash."""

    plan: Plan
    items: Mapping[str, EvalItem] = field(repr=False)


def eval_plan(suite: EvalSuite, part: float = 1.0) -> EvalPlan:
    """Every item once, then every item again, as often as the suite is to be asked; of that the `part` at the front.

    Items stand in the order of their hashes: whatever their file's order, each stretch is a fair share of the suite,
    and two runs that stop early have asked the same.
    """
    ordered = sorted(suite.items, key=lambda item: item.sha256)
    asked = [_item(item, rep) for rep in range(suite.reps) for item in ordered]
    kept = tuple(asked[: ceil(len(asked) * part)])
    version = f"{suite.name}/{suite.version}"
    return EvalPlan(Plan(ProbeKind.EVALS, kept, suite.sha256, version), {item.sha256: item for item in ordered})


def _item(item: EvalItem, rep: int) -> Item:
    return Item(item.sha256, rep, item.request, anchor=True, private=True)

"""Can whole answers be compared, and if not, why?

A round may turn out inapplicable by what came, and its null must hold all the same. What is said of both sides'
answers together does not know which side gave which, so p stays exact given that nothing is said. What is said of the
endpoint's against the reference's comes to pass with a chance of `BY_CHANCE` at most where both draw alike: this is
all that a round which counts nothing, in the place of one which counts for less, adds to the mean of a factor.
"""

from __future__ import annotations

import numpy as np

from monitor.drift.answers import Sides, joined
from monitor.drift.dealt_answers import Pooled
from monitor.drift.observation import BoolArray
from monitor.drift.repeated_answers import Compared
from monitor.drift.resplit import hypergeometric

FEWEST_PROMPTS = 10
# Answers of the reference that one is ranked among.
FEWEST_AMONG = 10
# Of all answers: with more of them empty, or the same as another one to their prompt, little is left to compare.
MOST_EMPTY, MOST_ALIKE = 0.5, 0.5
# More of the endpoint's answers than of the reference's: empty; cut into other tokens; equal to each other.
MORE_EMPTY, MORE_CUT_OTHERWISE, MORE_EQUAL = 0.5, 0.2, 0.1
BY_CHANCE = 0.001


def why_not_ranked(sides: Sides) -> str | None:
    """Why no answer can be ranked; None where it can."""
    if (why := _why_not(sides)) is not None:
        return why
    among = int(_pooled(sides).there.min())
    if among < FEWEST_AMONG:
        return f"an answer is ranked among {among} of the reference's, and {FEWEST_AMONG} are needed"
    return None


def why_not_repeated(sides: Sides) -> str | None:
    """The same for several answers to each prompt."""
    if (why := _why_not(sides)) is not None:
        return why
    pooled = _pooled(sides)
    twice = int(((pooled.here > 1) & (pooled.there > 1)).sum())
    if twice < FEWEST_PROMPTS:
        return f"{twice} prompts have two answers or more of either side, and {FEWEST_PROMPTS} are needed"
    return None


def why_not_drawn_anew(found: Compared) -> str | None:
    """Whether the endpoint's answers are copies of each other. A distance takes them for draws."""
    if found.copies.p > BY_CHANCE or found.copies.value <= MORE_EQUAL:
        return None
    return (
        f"{found.copies.value:.0%} more of the endpoint's pairs of answers are equal than of the reference's (p "
        f"{found.copies.p:.2g}): copies of one answer, or a lower temperature; the sampler's test tells which"
    )


def _pooled(sides: Sides) -> Pooled:
    return Pooled.of(sides.endpoint.prompts, sides.reference.prompts)


def _why_not(sides: Sides) -> str | None:
    shared = len(np.intersect1d(sides.endpoint.prompts, sides.reference.prompts))
    if shared < FEWEST_PROMPTS:
        return f"{shared} prompts have answers of either side, and {FEWEST_PROMPTS} are needed"
    empty, different = np.concatenate([sides.endpoint.empty, sides.reference.empty]), _different(sides)
    if empty.mean() > MOST_EMPTY:
        return f"{int(empty.sum())} of {len(empty)} answers of both sides are empty"
    if different < (1.0 - MOST_ALIKE) * len(empty):
        return (
            f"of {len(empty)} answers only {different} differ: prompts that have one answer, or draws that are copies"
        )
    if _more_often(sides.endpoint.empty, sides.reference.empty, by=MORE_EMPTY):
        return f"{int(sides.endpoint.empty.sum())} of the endpoint's {len(sides.endpoint)} answers are empty"
    return _why_not_cut_alike(sides)


def _different(sides: Sides) -> int:
    prompts = np.concatenate([sides.endpoint.prompts, sides.reference.prompts])
    return len(np.unique(np.column_stack([prompts, joined(sides.endpoint.ids, sides.reference.ids)]), axis=0))


def _why_not_cut_alike(sides: Sides) -> str | None:
    """Answers are cut off after so many tokens: where the endpoint's are other tokens, it is cut off elsewhere. Now and
    then the reference too draws tokens that its tokenizer would not have cut, so both sides have to say how many."""
    ours, theirs = sides.endpoint.cut_otherwise, sides.reference.cut_otherwise
    if ours is None or theirs is None or not _more_often(ours, theirs, by=MORE_CUT_OTHERWISE):
        return None
    return (
        f"{int(ours.sum())} of {len(ours)} answers count other tokens than the reference's tokenizer cuts them into, "
        f"of its own {int(theirs.sum())} of {len(theirs)}"
    )


def _more_often(here: BoolArray, there: BoolArray, by: float) -> bool:
    """By so much, and by Fisher's exact test with a chance of `BY_CHANCE` at most."""
    if here.mean() <= there.mean() + by:
        return False
    fewest, chances = hypergeometric(int(here.sum() + there.sum()), len(here), len(there))
    return float(chances[int(here.sum()) - fewest :].sum()) <= BY_CHANCE

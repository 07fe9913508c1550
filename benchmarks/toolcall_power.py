"""Power and false alarms of the trigger tests by simulation, beside the figures they were designed to.

Prompts call a tool with chances p ~ Beta(a, b). Two published figures of K2-thinking give a and b: 1,958 of 4,000
requests called, which is the mean, and two runs of the unchanged model score F1 = .76 against each other. With one
answer a prompt F1 tends to E[p²] / E[p] = (a + 1) / (a + b + 1). Each run draws its prompts anew; a fault of some
prompts strikes as many in each run, chosen at random, and the same ones in screen and confirmation.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monitor.drift.failures import fisher
from monitor.drift.stages import CONFIRM_P, SCREEN_P
from monitor.drift.trigger import Paired, f1, prompt_test, rate_test, trigger_test

Chances = NDArray[np.float64]
Fault = Callable[[Chances, np.random.Generator], Chances]

TRIGGER_RATE, SELF_F1 = 1958 / 4000, 0.76
F1_RULE, ALPHA = 0.73, 0.01
# The design's figures are shares of so many simulated runs, rounded to two digits where one test is looked at alone.
DESIGN_RUNS, ROUNDING = 300, 0.005
# A figure is out of its error where chance alone would make any of all figures differ so much less often than this.
_OUT_OF_ERROR = 0.01


def population() -> tuple[float, float]:
    """a and b: the mean is a / (a + b), and F1 of the model with itself (a + 1) / (a + b + 1)."""
    total = (1.0 - SELF_F1) / (SELF_F1 - TRIGGER_RATE)
    return TRIGGER_RATE * total, (1.0 - TRIGGER_RATE) * total


def shifted(logits: float) -> Fault:
    def fault(p: Chances, _: np.random.Generator) -> Chances:
        return np.asarray(p / (p + (1.0 - p) * np.exp(-logits)))

    return fault


def struck(share: float, becomes: Callable[[Chances], Chances]) -> Fault:
    def fault(p: Chances, rng: np.random.Generator) -> Chances:
        chosen = rng.permutation(p.size) < round(share * p.size)
        return np.where(chosen, becomes(p), p)

    return fault


FAULTS: Mapping[str, Fault] = {
    "none": lambda p, _: p,
    "logit −.5": shifted(-0.5),
    "logit −.25": shifted(-0.25),
    "2 % never call": struck(0.02, np.zeros_like),
    "5 % never call": struck(0.05, np.zeros_like),
    "10 % never call": struck(0.10, np.zeros_like),
    "10 % swapped": struck(0.10, lambda p: 1.0 - p),
}

Size = tuple[int, int]
# Of each test alone at α = .01: F1 < .73, the rate, the prompts.
ALONE: Mapping[Size, Mapping[str, tuple[float, float, float]]] = {
    (60, 8): {"none": (0.23, 0.01, 0.00), "logit −.5": (0.35, 0.48, 0.07), "10 % never call": (0.63, 0.05, 0.82)},
    (120, 8): {
        "none": (0.17, 0.01, 0.01),
        "logit −.5": (0.41, 0.84, 0.07),
        "5 % never call": (0.35, 0.03, 0.63),
        "10 % never call": (0.75, 0.28, 0.97),
        "10 % swapped": (0.83, 0.01, 1.00),
    },
    (200, 5): {
        "none": (0.05, 0.01, 0.00),
        "logit −.5": (0.27, 0.85, 0.09),
        "5 % never call": (0.30, 0.10, 0.58),
        "10 % never call": (0.60, 0.45, 0.99),
    },
}
# Of both tests together: hit by the screen, and confirmed on fresh answers.
STAGES: Mapping[Size, tuple[tuple[float, float], ...]] = {
    (120, 8): ((0.027, 0.0), (0.85, 0.54), (0.24, 0.03), (0.17, 0.02), (0.66, 0.44), (0.97, 0.92), (1.0, 1.0)),
    (200, 5): ((0.010, 0.0), (0.89, 0.61), (0.20, 0.02), (0.13, 0.00), (0.60, 0.24), (0.97, 0.88), (1.0, 0.99)),
    (200, 8): ((0.013, 0.0), (0.99, 0.89), (0.39, 0.08), (0.31, 0.07), (0.88, 0.70), (1.0, 0.98), (1.0, 1.0)),
}
FIGURES = sum(3 * len(rows) for rows in ALONE.values()) + sum(2 * len(rows) for rows in STAGES.values())


@dataclass(frozen=True)
class Figure:
    """How many of our runs called, beside the design's share."""

    size: Size
    fault: str
    what: str
    called: int
    runs: int
    design: float

    @property
    def share(self) -> float:
        return self.called / self.runs

    @property
    def chance(self) -> float:
        """Of two such shares of one truth differing as much (Fisher's exact test), the design's taken as near to ours
        as its rounding allows."""
        nearest = min(max(self.share, self.design - ROUNDING), self.design + ROUNDING)
        theirs = round(min(1.0, max(0.0, nearest)) * DESIGN_RUNS)
        more = fisher(self.called, self.runs, theirs, DESIGN_RUNS)
        fewer = fisher(self.runs - self.called, self.runs, DESIGN_RUNS - theirs, DESIGN_RUNS)
        return min(1.0, 2.0 * min(more, fewer))

    @property
    def out_of_error(self) -> bool:
        return self.chance < _OUT_OF_ERROR / FIGURES


@dataclass(frozen=True)
class Run:
    """One simulated run: chances of the reference and of the endpoint, and answers drawn from them."""

    p: Chances
    q: Chances
    repeats: int

    def answers(self, rng: np.random.Generator) -> Paired:
        r = self.repeats
        return Paired.of(rng.binomial(r, self.q), r, rng.binomial(r, self.p), r)


def draw(size: Size, fault: Fault, rng: np.random.Generator) -> Run:
    p = rng.beta(*population(), size=size[0])
    return Run(p, fault(p, rng), size[1])


def alone(size: Size, name: str, runs: int, seed: int) -> list[Figure]:
    rng = np.random.default_rng((seed, *size))
    called = np.zeros(3, dtype=int)
    for _ in range(runs):
        paired = draw(size, FAULTS[name], rng).answers(rng)
        score = f1(paired)
        called += (score is not None and score < F1_RULE, rate_test(paired)[1] <= ALPHA, prompt_test(paired) <= ALPHA)
    names = (f"F1 < {F1_RULE}", "rate", "prompts")
    return [
        Figure(size, name, *row) for row in zip(names, called.tolist(), (runs,) * 3, ALONE[size][name], strict=True)
    ]


def staged(size: Size, name: str, runs: int, seed: int) -> list[Figure]:
    rng = np.random.default_rng((seed, *size))
    hits = confirmed = 0
    for _ in range(runs):
        run = draw(size, FAULTS[name], rng)
        if calls(run.answers(rng), SCREEN_P):
            hits += 1
            confirmed += calls(run.answers(rng), CONFIRM_P)
    design = STAGES[size][list(FAULTS).index(name)]
    return [
        Figure(size, name, "screen", hits, runs, design[0]),
        Figure(size, name, "confirmed", confirmed, runs, design[1]),
    ]


def calls(paired: Paired, p: float) -> bool:
    test = trigger_test(paired)
    return test is not None and test.p <= p


def simulate(sizes: list[Size], runs: int, seed: int) -> list[Figure]:
    figures = []
    for size in sizes:
        for name in ALONE.get(size, ()):
            figures += alone(size, name, runs, seed)
        for name in FAULTS if size in STAGES else ():
            figures += staged(size, name, runs, seed)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    every = sorted({*ALONE, *STAGES})
    parser.add_argument(
        "--sizes", nargs="*", choices=[f"{n}x{r}" for n, r in every], default=["120x8"], help="prompts x repeats"
    )
    parser.add_argument("--runs", type=int, default=4_000, help="simulated runs a figure")
    parser.add_argument("--quick", action="store_const", const=DESIGN_RUNS, dest="runs", help="as few as the design's")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    sizes = [size for size in every if f"{size[0]}x{size[1]}" in options.sizes]
    print("p ~ Beta({:.3f}, {:.3f}); {:,} runs a figure; the design's in brackets".format(*population(), options.runs))
    figures = simulate(sizes, options.runs, options.seed)
    for size in sizes:
        print_tables([figure for figure in figures if figure.size == size])
    sys.exit(any(figure.out_of_error for figure in figures))


def print_tables(figures: list[Figure]) -> None:
    """One table for what each test sees alone, one for screen and confirmation."""
    for stages in (False, True):
        columns = [w for w in dict.fromkeys(f.what for f in figures) if (w in ("screen", "confirmed")) is stages]
        if not columns:
            continue
        print("\n| {} × {} | {} |".format(*figures[0].size, " | ".join(columns)))
        print("| --- |" + " --- |" * len(columns))
        for name in dict.fromkeys(f.fault for f in figures if f.what in columns):
            row = [cell(f) for f in figures if f.fault == name and f.what in columns]
            print(f"| {name} | {' | '.join(row)} |")


def cell(figure: Figure) -> str:
    return f"{figure.share:.3f} ({figure.design:g})" + (" OUT OF ERROR" if figure.out_of_error else "")


if __name__ == "__main__":
    main()

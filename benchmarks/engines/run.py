"""Measures contenders in turn, round after round, never two at a time."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from benchmarks.engines.job import CELLS, Answer, Job, LeftOutError, Sizes, ask
from benchmarks.engines.line_up import Contender
from benchmarks.engines.results import Further, Result

_BITS_SEED = 0
_BEGUN = time.monotonic()
_COMPARED_CELLS = ("scoring", "decode_32", "prefill", "decode_1")


@dataclass(frozen=True)
class Run:
    """How all are measured: `rounds` times each, with as many threads."""

    threads: int
    sizes: Sizes
    rounds: int
    cells: tuple[str, ...] = CELLS

    def ask(self, contender: Contender, what: str, seed: int) -> Answer:
        """Raises LeftOutError."""
        print(f"{_so_far()} {contender.name}: {what}", file=sys.stderr, flush=True)
        job = Job(
            contender.module,
            what,
            str(contender.model),
            contender.options,
            self.threads,
            seed,
            self.sizes,
            self.cells,
        )
        return ask(contender.python, job)


def _so_far() -> str:
    minutes, seconds = divmod(int(time.monotonic() - _BEGUN), 60)
    return f"[{minutes}:{seconds:02}]"


def measured(run: Run, contenders: Sequence[Contender]) -> tuple[list[Result], dict[str, str]]:
    """The results, and why others are left out, by name. In a round all are given the same prompts."""
    left_out: dict[str, str] = {}
    results = [Result(one.name, one.ours) for one in contenders]
    for turn in [*range(1, run.rounds + 1), None]:
        for contender, result in zip(contenders, results, strict=True):
            if contender.name not in left_out:
                try:
                    _take(run, contender, result, turn)
                except LeftOutError as error:
                    left_out[contender.name] = str(error)
    return [result for result in results if result.name not in left_out], left_out


def _take(run: Run, contender: Contender, result: Result, turn: int | None) -> None:
    """One round of figures, or what the bits do where there is no number of a round."""
    if turn is None:
        result.same_bits = run.ask(contender, "same_bits", _BITS_SEED).found
        return
    answer = run.ask(contender, "figures", turn)
    result.rounds.append(answer.found)
    result.about = answer.about


def further(run: Run, profiles: Sequence[Contender]) -> list[Further]:
    """The second table: our engine against itself."""
    return [
        _row(measurement, one.options["profile"], partial(measure, run, one))
        for measurement, measure in _OF_A_PROFILE.items()
        for one in profiles
    ]


def _row(measurement: str, setting: str, measure: Callable[[], tuple[float, str]]) -> Further:
    try:
        return Further(measurement, setting, *measure())
    except LeftOutError as error:
        return Further(measurement, setting, None, f"left out: {error}")


def _prefix_reuse(run: Run, one: Contender) -> tuple[float, str]:
    found = run.ask(one, "prefix_reuse", 1).found
    prompts = f"{run.sizes.sharing} prompts of {run.sizes.shared:,} + {run.sizes.own} tokens"
    return found["cold"] / found["shared"], f"{prompts}: {found['cold']:.1f} s and {found['shared']:.1f} s"


def _speculation(run: Run, one: Contender) -> tuple[float, str]:
    drafted = run.ask(_with(one, draft="ngram"), "repetitive", 1).found
    plain = run.ask(_with(one, draft="none"), "repetitive", 1).found
    same = "identical" if drafted["digest"] == plain["digest"] else "DIFFERENT"
    return drafted["rate"] / plain["rate"], f"{drafted['rate']:.0f} and {plain['rate']:.0f} tokens/s, output {same}"


def _exactness(run: Run, one: Contender) -> tuple[float, str]:
    """The cell in which exactness costs most."""
    shares = replace(run, cells=_COMPARED_CELLS).ask(one, "exactness", 1).found
    worst = min(shares, key=shares.__getitem__)
    return shares[worst], ", ".join(f"{cell} {share:.2f}" for cell, share in shares.items())


def _memory(run: Run, one: Contender) -> tuple[float, str]:
    found = run.ask(one, "memory", 1).found
    sizes = {name: f"{size / 1e6:.0f} MB" for name, size in found.items()}
    note = f"{sizes['grown']} by growth of the process, {sizes['counted']} by count, {sizes['float32']} in float32"
    return found["grown"] / found["float32"], note


def _with(one: Contender, **options: object) -> Contender:
    return replace(one, options={**one.options, **options})


_OF_A_PROFILE: dict[str, Callable[[Run, Contender], tuple[float, str]]] = {
    "prefix reuse, cold ÷ shared": _prefix_reuse,
    "speculation, n-gram ÷ none": _speculation,
    "exactness, exact ÷ inexact": _exactness,
    "weights' memory, held ÷ float32": _memory,
}

"""The rivals beside the pilot study's figures: each has to give them again before it is compared with anything."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.detection_lab.distances import TABLE_D, table_d
from benchmarks.detection_lab.first_tokens import FirstTokenStore
from benchmarks.detection_lab.powers import TABLE_E, Power, Sizes, away, table_e
from benchmarks.detection_lab.texts import TextStore

# Two standard errors.
WITHIN = 2.0
# Another draw of noise, and another text, than the pilot's own.
NOT_THE_SAME = ("noise-0.001", "noise-0.01", "system-prompt")


def rows_d(store: FirstTokenStore, prompts: int) -> Iterator[str]:
    """Measured, the published figure in brackets; how many standard errors apart the two means over prompts are."""
    columns = ("LT on x", "LT, top 20", "s.e. apart", "LT, top 5", "s.e. apart", "KL", "flips", "of the 20 tightest")
    yield f"| {prompts} prompts | " + " | ".join(columns) + " |"
    yield "| --- |" + " --- |" * len(columns)
    for name, ours in table_d(store, prompts).items():
        theirs = TABLE_D[name]
        cells = [
            name,
            f"{ours.on_x:.4f} ({theirs.on_x:.4g})",
            f"{ours.top_20:.4f} ({theirs.top_20:.4g})",
            _apart_if_same(name, ours.top_20_away(theirs)),
            f"{ours.top_5:.4f} ({theirs.top_5:.4g})",
            _apart_if_same(name, ours.top_5_away(theirs)),
            f"{ours.kl:.2g} ({theirs.kl:.2g})",
            f"{ours.flips:.1%} ({theirs.flips:.1%})",
            f"{ours.tight_flips:.0%} ({theirs.tight_flips:.0%})",
        ]
        yield "| " + " | ".join(cells) + " |"


def rows_e(store: TextStore, sizes: Sizes) -> Iterator[str]:
    """Power at .05 and .01, the published figures in brackets, and how many standard errors those at .05 are apart."""
    yield "| change | " + " | ".join(f"{test} | s.e. apart" for test in ("MET", "RUT", "NLL")) + " |"
    yield "| --- |" + " --- | --- |" * 3
    for name, found in table_e(store, sizes).items():
        cells = [cell for test, theirs in TABLE_E[name].items() for cell in _power_cells(found[test], theirs)]
        yield f"| {name} | " + " | ".join(cells) + " |"


def _power_cells(ours: Power, theirs: Power) -> tuple[str, str]:
    shown = f"{ours.at_05:.3f} / {ours.at_01:.3f} ({theirs.at_05:g} / {theirs.at_01:g})"
    return shown, _apart(away(ours.at_05, theirs.at_05))


def _apart_if_same(name: str, errors: float) -> str:
    return "–" if name in NOT_THE_SAME else _apart(errors)


def _apart(errors: float) -> str:
    return f"{errors:+.1f}" if abs(errors) <= WITHIN else f"**{errors:+.1f}**"

"""G7: tests of whole answers keep their level, see 4-bit weights and a temperature of 0.9, and do not see int8: the
product's own (monitor/drift/whole_answers.py), and the rivals beside them."""

from __future__ import annotations

from benchmarks.detection_lab.changes import CHANGES, UNCHANGED
from benchmarks.detection_lab.goals.figure import Figure, Lab
from benchmarks.detection_lab.powers import Pools, Power, powers, single_rut_power
from benchmarks.detection_lab.product import product_levels, product_powers
from benchmarks.detection_lab.texts import Asked

# m, n and L of the bar.
PROMPTS, ANSWERS, TOKENS = 25, 10, 50
POOL, QUICK_POOL = 60, 20
REPEATS, QUICK_REPEATS = 1_000, 300
CHANGED = ("w8-channel", "nf4", "temperature-0.9")


def measure(lab: Lab) -> list[Figure]:
    found = {name: of_change(lab, name) for name in (UNCHANGED.name, *CHANGED)}
    null, nf4, warm = found[UNCHANGED.name], found["nf4"], found["temperature-0.9"]
    return [
        Figure("distance: false alarms at .05", null["distance"].at_05, least=0.04, most=0.06),
        Figure("ranks: false alarms at .05", null["ranks"].at_05, most=0.06),
        Figure("likelihood: false alarms at .05", null["likelihood"].at_05, most=0.06),
        Figure("all three: false alarms at .05, by E", null["all three, by E"].at_05, most=0.05),
        Figure("distance: power against nf4", nf4["distance"].at_05, least=0.9),
        Figure("ranks: power against nf4", nf4["ranks"].at_05),
        Figure("likelihood: power against nf4", nf4["likelihood"].at_05),
        Figure("likelihood: power against temperature 0.9", warm["likelihood"].at_05, least=0.9),
        Figure("ranks: power against temperature 0.9", warm["ranks"].at_05),
        Figure("distance: power against temperature 0.9", warm["distance"].at_05),
        Figure("all three: power against temperature 0.9, by E", warm["all three, by E"].at_05),
        Figure("MET: false alarms at .05", null["MET"].at_05, least=0.04, most=0.06),
        Figure("RUT, one answer to a prompt: false alarms at .05", null["RUT"].at_05, most=0.06),
        Figure("NLL: false alarms at .05", null["NLL"].at_05),
        Figure("MET: power against nf4", nf4["MET"].at_05, least=0.9),
        Figure("RUT: power against nf4", nf4["RUT"].at_05),
        Figure("NLL: power against nf4", nf4["NLL"].at_05),
        Figure("NLL: power against temperature 0.9", warm["NLL"].at_05, least=0.9),
        Figure("RUT: power against temperature 0.9", warm["RUT"].at_05),
        Figure("MET: power against temperature 0.9", warm["MET"].at_05),
        *(Figure(f"{name}: power against int8", power.at_05) for name, power in found["w8-channel"].items()),
    ]


def of_change(lab: Lab, name: str) -> dict[str, Power]:
    """Of both sides at m = 25, n = 10, L = 50; the endpoint's answers are a pool of their own, also where it runs the
    reference."""
    pool, repeats = (QUICK_POOL, QUICK_REPEATS) if lab.quick else (POOL, REPEATS)
    asked = Asked(PROMPTS, pool, TOKENS)
    pools = Pools(lab.texts.get(UNCHANGED, asked), lab.texts.get(CHANGES[name], asked, pool=1))
    rivals = powers(pools, ANSWERS, repeats, lab.seed) | {"RUT": single_rut_power(pools, repeats, lab.seed)}
    ours = product_levels if name == UNCHANGED.name else product_powers
    return ours(pools, ANSWERS, repeats, lab.seed) | rivals

"""How many near ties the border probe's prompts have on the bundled model, and which of them other numerics turn over.

    .venv/bin/python -m benchmarks.border_supply [--seed 0]

Prints the share of the 2,000 prompts of one installation whose two likeliest first tokens are within so many nats, and
for each profile the share of the tightest 20, 50 and 300 whose first token is not that of fp32. About a minute.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from monitor.drift.border import CANDIDATES, KEPT, SCREENED, tightest
from probes import border
from reference_engine import ReferenceBackend, load_engine
from reference_engine.bundle import resolve_model

NATS = (0.01, 0.02, 0.05, 0.1)
PROFILES = ("bf16", "w8-channel", "w4-g64")
PARTS = (KEPT, CANDIDATES, SCREENED)


def first_tokens(
    engine: ReferenceBackend, prompts: Sequence[Sequence[int]], profile: str
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The likeliest first token of each, and how far the second is below it, in nats."""
    tops = [one.top for one in engine.next_tokens(prompts, top_k=2, profile=profile)]
    return np.array([top[0][0] for top in tops]), np.array([top[0][1] - top[1][1] for top in tops])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=0, help="of the installation")
    seed = parser.parse_args().seed.to_bytes(32, "big")
    engine = load_engine(resolve_model("bundled"))
    prompts = [engine.render(border.messages_of(one)).ids for one in border.pool(seed).values()]
    own, gaps = first_tokens(engine, prompts, "fp32")
    order = tightest(gaps)
    print(f"{len(prompts)} prompts of {np.mean([*map(len, prompts)]):.1f} tokens")
    print("within", *(f"{nats:g} nat: {(gaps < nats).mean():.1%}" for nats in NATS), sep="  ")
    for profile in PROFILES:
        others, _ = first_tokens(engine, [prompts[place] for place in order], profile)
        turned = others != own[order]
        print(f"{profile:12}", *(f"of the tightest {part}: {turned[:part].mean():.0%}" for part in PARTS), sep="  ")
    engine.close()


if __name__ == "__main__":
    main()

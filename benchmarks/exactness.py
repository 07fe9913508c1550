"""How far every profile is from the fp64 oracle on the bundled model.

    .venv/bin/python -m benchmarks.exactness [--positions 200] [--json FILE]

Prints a row a profile: the difference of the log-probabilities of the oracle's 20 most likely tokens, in nats, over the
first positions of docs/detection.md.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from reference_engine import PROFILES, load_tokenizer
from reference_engine.bundle import bundled_path
from reference_engine.forward.batch import PAGE, Asked, ReadOut
from reference_engine.forward.pages import page_bytes
from reference_engine.forward.pieces import Piece, batch_of
from reference_engine.forward.torch_forward import TorchForward
from reference_engine.profile import FURTHER_PROFILES, NumericsProfile
from reference_engine.weights.gguf import open_gguf
from reference_engine.weights.gguf_source import GGUFSource
from reference_engine.weights.store import WeightStore

TOP = 20
TEXT = Path(__file__).resolve().parent.parent / "docs" / "detection.md"
ORACLE = FURTHER_PROFILES["fp64"]


@dataclass(frozen=True)
class Row:
    """Distances in nats over `values` log-probabilities."""

    profile: str
    mean: float
    largest: float
    values: int


class Scorer:
    """One text under any profile of the bundled model."""

    def __init__(self, positions: int) -> None:
        source = GGUFSource(open_gguf(bundled_path()))
        self._config = source.config
        self._store = WeightStore(source, kept=1)
        self._ids = load_tokenizer(bundled_path()).tokenize(TEXT.read_text())[:positions]

    def read(self, profile: NumericsProfile, chosen: NDArray[np.int32]) -> ReadOut:
        size = page_bytes(self._config, profile)
        pages = np.arange(-(-len(self._ids) // PAGE), dtype=np.int64) * size
        arena = np.zeros(len(pages) * size, dtype=np.uint8)
        forward = TorchForward(self._config, self._store.weights(profile), profile, arena)
        hidden = forward.hidden(batch_of([Piece(self._ids, 0, pages)]))
        return forward.read_out(hidden, Asked(TOP, np.full(len(self._ids), -1, dtype=np.int32), chosen))

    def top(self) -> NDArray[np.int32]:
        """The oracle's most likely tokens, [positions, TOP]."""
        return self.read(ORACLE, np.empty((len(self._ids), 0), dtype=np.int32)).top_ids

    def logprobs(self, profile: NumericsProfile, chosen: NDArray[np.int32]) -> NDArray[np.float64]:
        read = self.read(profile, chosen)
        return read.chosen_logits.astype(np.float64) - read.log_normaliser[:, None]


def measure(positions: int) -> Iterator[Row]:
    scorer = Scorer(positions)
    top = scorer.top()
    exact = scorer.logprobs(ORACLE, top)
    for name, profile in (PROFILES | FURTHER_PROFILES).items():
        if profile != ORACLE:
            far = np.abs(scorer.logprobs(profile, top) - exact)
            yield Row(name, float(far.mean()), float(far.max()), far.size)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--positions", type=int, default=200, help="tokens of the text that are scored")
    parser.add_argument("--json", type=Path, help="also write the rows to this file")
    options = parser.parse_args()
    print("| profile | mean difference, nat | largest, nat | values |")
    print("| --- | --- | --- | --- |")
    rows = []
    for row in measure(options.positions):
        rows.append(row)
        print(f"| {row.profile} | {row.mean:.1e} | {row.largest:.1e} | {row.values} |", flush=True)
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=2))


if __name__ == "__main__":
    main()

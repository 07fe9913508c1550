"""How far every profile is from the fp64 oracle on the bundled model, and its lawful implementations from our engine.

    .venv/bin/python -m benchmarks.exactness [--positions 200] [--draws 4] [--json FILE]

Prints two tables with a row a profile, over the first positions of docs/detection.md and the oracle's 20 most likely
tokens at each. The first has the differences of log-probabilities from the oracle, in nats. The second, over at most
128 positions, has those of lawful implementations (reference_engine.noise_cloud) from the engine, what it makes when
attention takes its keys in blocks of 32 for 64 and nothing else changes, and how far the engine is from its fp32.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from reference_engine import PROFILES, EngineOptions, load_tokenizer, noise_cloud
from reference_engine.bundle import bundled_path
from reference_engine.chat import PINNED_DATE
from reference_engine.engine import Engine, open_engine
from reference_engine.forward.batch import PAGE, Asked, ReadOut
from reference_engine.forward.order import Order
from reference_engine.forward.pages import page_bytes
from reference_engine.forward.pieces import Piece, batch_of
from reference_engine.forward.torch_forward import TorchForward
from reference_engine.noise import lawful_logprobs
from reference_engine.profile import FURTHER_PROFILES, NumericsProfile, profile_named
from reference_engine.weights.gguf import open_gguf
from reference_engine.weights.gguf_source import GGUFSource
from reference_engine.weights.store import WeightStore

TOP = 20
TEXT = Path(__file__).resolve().parent.parent / "docs" / "detection.md"
ORACLE = FURTHER_PROFILES["fp64"]
CLOUDS = ("fp32", "w8-channel", "w4-g64", "fp32-kv-int8", "bf16", "w8a8")
CLOUD_POSITIONS = 128


@dataclass(frozen=True)
class Row:
    """Distances in nats over `values` log-probabilities."""

    profile: str
    mean: float
    largest: float
    values: int


@dataclass(frozen=True)
class Cloud:
    """Distances in nats: of lawful implementations from the engine, of one order of keys from another (root mean
    square), and of the engine's numbers from its fp32's."""

    profile: str
    mean: float
    largest: float
    other_key_block: float
    from_fp32: float


def text_ids(positions: int) -> list[int]:
    return load_tokenizer(bundled_path()).tokenize(TEXT.read_text())[:positions]


class Scorer:
    """One text under any profile of the bundled model."""

    def __init__(self, positions: int) -> None:
        source = GGUFSource(open_gguf(bundled_path()))
        self._config = source.config
        self._store = WeightStore(source, kept=1)
        self.ids = text_ids(positions)

    def read(self, profile: NumericsProfile, chosen: NDArray[np.int32]) -> ReadOut:
        size = page_bytes(self._config, profile)
        pages = np.arange(-(-len(self.ids) // PAGE), dtype=np.int64) * size
        arena = np.zeros(len(pages) * size, dtype=np.uint8)
        forward = TorchForward(self._config, self._store.weights(profile), profile, arena)
        hidden = forward.hidden(batch_of([Piece(self.ids, 0, pages)]))
        return forward.read_out(hidden, Asked(TOP, np.full(len(self.ids), -1, dtype=np.int32), chosen))

    def top(self) -> NDArray[np.int32]:
        """The oracle's most likely tokens, [positions, TOP]."""
        return self.read(ORACLE, np.empty((len(self.ids), 0), dtype=np.int32)).top_ids

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


def clouds(positions: int, draws: int) -> Iterator[Cloud]:
    top = Scorer(positions).top()
    ids = text_ids(positions)
    engine = open_engine(bundled_path(), profile="fp32", options=EngineOptions(), today=PINNED_DATE)
    try:
        plain = _logprobs(engine, ids, top, "fp32")
        for name in CLOUDS:
            far = np.abs(noise_cloud(engine, ids, top.tolist(), profile=name, draws=draws))
            moved = np.abs(_logprobs(engine, ids, top, name) - plain)
            yield Cloud(name, far.mean(), far.max(), _other_key_block(engine, ids, top, name), moved.mean())
    finally:
        engine.close()


def _logprobs(engine: Engine, ids: list[int], top: NDArray[np.int32], profile: str) -> NDArray[np.float64]:
    scored = engine.score(ids, top_k=0, token_ids=np.unique(top).tolist(), profile=profile)
    lines = zip(scored.positions[1:], top.tolist(), strict=True)
    return np.array([[position.chosen[token] for token in line] for position, line in lines])


def _other_key_block(engine: Engine, ids: list[int], top: NDArray[np.int32], profile: str) -> float:
    orders = iter([Order(key_block=64), Order(key_block=32)])
    one, other = lawful_logprobs(*engine.tensors(profile), profile_named(profile), ids, top, orders)
    return float(np.sqrt(np.mean((one - other) ** 2)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--positions", type=int, default=200, help="tokens of the text that are scored")
    parser.add_argument("--json", type=Path, help="also write the rows to this file")
    parser.add_argument("--draws", type=int, default=4, help="lawful implementations of the second table; 0: no table")
    options = parser.parse_args()
    print("| profile | mean difference, nat | largest, nat | values |")
    print("| --- | --- | --- | --- |")
    rows: list[Row | Cloud] = []
    for row in measure(options.positions):
        rows.append(row)
        print(f"| {row.profile} | {row.mean:.1e} | {row.largest:.1e} | {row.values} |", flush=True)
    if options.draws:
        print("\n| profile | implementations, mean, nat | largest | other key blocks, rms | from fp32, mean |")
        print("| --- | --- | --- | --- | --- |")
        for cloud in clouds(min(options.positions, CLOUD_POSITIONS), options.draws):
            rows.append(cloud)
            figures = (cloud.mean, cloud.largest, cloud.other_key_block, cloud.from_fp32)
            print(f"| {cloud.profile} | {' | '.join(f'{figure:.1e}' for figure in figures)} |", flush=True)
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=2))


if __name__ == "__main__":
    main()

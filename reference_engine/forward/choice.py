"""Which forward pass serves a profile here: the kernels where they run, stock torch everywhere, or what is quickest."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reference_engine.forward.batch import Forward, Page
from reference_engine.forward.inexact_forward import InexactForward, Way
from reference_engine.forward.native_forward import NativeForward, native_layer_bytes, native_runs
from reference_engine.forward.pages import layer_bytes
from reference_engine.forward.plain_pass import PlainPass
from reference_engine.forward.self_test import PAGES_NEEDED, first_difference
from reference_engine.forward.torch_forward import TorchForward
from reference_engine.interface import Exactness
from reference_engine.kv.page_pools import PagePools
from reference_engine.model.groups import layer_groups
from reference_engine.model.tensors import ModelWeights
from reference_engine.native.build import KernelsUnavailableError
from reference_engine.native.library import Kernels, fastest
from reference_engine.native.weights import native_weights
from reference_engine.profile import NumericsProfile
from reference_engine.weights.source import WeightSource
from reference_engine.weights.store import WeightStore

logger = logging.getLogger("reference_engine")


@dataclass(frozen=True, slots=True)
class Loaded:
    """A forward pass, and the bytes that its weights take."""

    forward: Forward
    weight_bytes: int


class Choice:
    """Not safe for several threads at once."""

    def __init__(self, source: WeightSource, *, kept: int, threads: int | None, exact: bool = True) -> None:
        self._source = source
        self._kept = kept
        self._exact = exact
        self._store: WeightStore | None = None
        self._kernels = _kernels(threads)

    def runs_natively(self, profile: NumericsProfile) -> bool:
        return self._kernels is not None and native_runs(self._source.config, profile)

    def arithmetic(self, profile: NumericsProfile) -> str:
        """What decides the order of operations, for the fingerprint."""
        native = self._kernels is not None and self.runs_natively(profile)
        name = self._kernels.path.stem if self._kernels is not None and native else "torch-pages-1"
        return name if self._exact else f"{name}-inexact"

    def page_bytes(self, profile: NumericsProfile) -> tuple[int, ...]:
        """The size of a page in each layer group."""
        config = self._source.config
        layer = native_layer_bytes(config, profile) if self.runs_natively(profile) else layer_bytes(config, profile)
        return tuple(len(group.layers) * layer for group in layer_groups(config))

    def load(self, profile: NumericsProfile, arena: NDArray[np.uint8]) -> Loaded:
        return self._exact_pass(profile, arena) if self._exact else self._inexact_pass(profile, arena)

    def _exact_pass(self, profile: NumericsProfile, arena: NDArray[np.uint8]) -> Loaded:
        if self._kernels is not None and self.runs_natively(profile):
            weights = native_weights(self._source, profile)
            return Loaded(NativeForward(self._kernels, weights, arena), weights.nbytes)
        held = self.tensors(profile)
        return Loaded(TorchForward(self._source.config, held, profile, arena), held.nbytes)

    def _inexact_pass(self, profile: NumericsProfile, arena: NDArray[np.uint8]) -> Loaded:
        """Of the kernels and stock torch what is quicker; torch without any padding where there are no kernels. Under
        bf16 torch's own products are slower than the kernels' everywhere."""
        config, size = self._source.config, sum(self.page_bytes(profile))
        if self._kernels is not None and self.runs_natively(profile):
            kernels, weights = self._kernels, native_weights(self._source, profile)
            ways: list[Way] = [lambda batch, arena: kernels.hidden(weights.model, batch, arena)]
            if profile.activations != "bf16" and not any(config.windows):
                ways.append(PlainPass(config, self.tensors(profile), profile).hidden)
            return Loaded(InexactForward(NativeForward(kernels, weights, arena), ways, size, arena), weights.nbytes)
        held = self.tensors(profile)
        forward = TorchForward(config, held, profile, arena, row_multiple=1)
        return Loaded(InexactForward(forward, [lambda batch, _: forward.hidden(batch)], size, arena), held.nbytes)

    def tensors(self, profile: NumericsProfile) -> ModelWeights:
        """The weights of a profile for torch; they stay in memory beside those of the kernels."""
        if self._store is None:
            self._store = WeightStore(self._source, kept=self._kept)
        return self._store.weights(profile)

    def close(self) -> None:
        if self._kernels is not None:
            self._kernels.close()


def tested(
    forward: Forward,
    profile: NumericsProfile,
    pools: PagePools,
    vocab_size: int,
    alone: Callable[[Callable[[], str | None]], str | None],
) -> tuple[Exactness, str | None]:
    """What the numbers are on this machine, and what speaks against `bitwise`; `alone` runs forward passes."""
    if isinstance(forward, InexactForward):
        alone(forward.settle)
        return "approx", "The engine was asked to compute without care for equal bits."
    if profile.oracle:
        return "oracle", None
    pages: list[Page] = []
    if not pools.extend(pages, PAGES_NEEDED):
        return "approx", f"The self-test needs {PAGES_NEEDED} pages of memory, and fewer are free."
    try:
        difference = alone(lambda: first_difference(forward, np.array(pages, dtype=np.int64).T, vocab_size))
    finally:
        for page in pages:
            pools.release(page)
    return ("bitwise", None) if difference is None else ("approx", difference)


def _kernels(threads: int | None) -> Kernels | None:
    isa = fastest()
    if isa is None:
        return None
    try:
        return Kernels(isa, threads)
    except KernelsUnavailableError as error:
        logger.warning("torch computes in place of the kernels: %s %s", error.message, error.remedy)
        return None

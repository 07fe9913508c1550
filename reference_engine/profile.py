"""Numerics profiles: the named recipes (weights × activations × KV cache × accumulation) a reference can run under."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Literal

from reference_engine.errors import EngineRequestError

WeightFormat = Literal[
    "as-stored", "bf16", "int8-channel", "int8-tensor", "int4-group", "nf4-group", "fp8-e4m3-channel"
]
ActivationFormat = Literal["fp32", "bf16", "int8-row", "fp64"]
KVFormat = Literal["fp32", "bf16", "fp8-e4m3", "int8", "fp64"]
Accumulation = Literal["fp32", "int32", "fp64"]


@dataclass(frozen=True, slots=True)
class NumericsProfile:
    """One recipe.

    `weights` says how the weights of linear layers are altered before use, `group_size` over how many inputs a scale
    is shared where the format has groups. `activations` is the format every intermediate value is rounded to, `kv` the
    one keys and values are stored in, `accumulation` the one products are summed in.

    Activations `int8-row` are quantized where a linear layer takes them in, with one scale for each row; everything
    between linear layers is float32. Keys and values as `fp8-e4m3` have no scale and end at ±448; as `int8` they have
    one for each token and head. Sums in `int32` are those of linear layers; attention and head then sum in float32.
    """

    name: str
    weights: WeightFormat
    activations: ActivationFormat = "fp32"
    kv: KVFormat = "fp32"
    accumulation: Accumulation = "fp32"
    group_size: int | None = None

    def canonical_json(self) -> str:
        """Every field that changes numbers, in one fixed spelling; the name is not among them."""
        fields = {key: value for key, value in asdict(self).items() if key != "name"}
        return json.dumps(fields, sort_keys=True, separators=(",", ":"))

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.canonical_json().encode()).hexdigest()

    @property
    def alters_weights(self) -> bool:
        """Whether the weights are float32 values of a coarser format. Whole-number arithmetic packs the stored ones."""
        return self.weights != "as-stored" and self.activations != "int8-row"

    @property
    def oracle(self) -> bool:
        """Whether it stands for the exact numbers, published on a grid coarser than its own rounding errors."""
        return self.accumulation == "fp64"


PROFILES: dict[str, NumericsProfile] = {
    profile.name: profile
    for profile in (
        NumericsProfile("fp32", weights="as-stored"),
        NumericsProfile("bf16", weights="bf16", activations="bf16", kv="bf16"),
        NumericsProfile("w8-channel", weights="int8-channel"),
        NumericsProfile("w8-tensor", weights="int8-tensor"),
        NumericsProfile("fp8-e4m3", weights="fp8-e4m3-channel"),
        NumericsProfile("nf4", weights="nf4-group", group_size=64),
        NumericsProfile("w4-g64", weights="int4-group", group_size=64),
    )
}

FURTHER_PROFILES: dict[str, NumericsProfile] = {
    profile.name: profile
    for profile in (
        NumericsProfile("w8a8", weights="int8-channel", activations="int8-row", kv="bf16", accumulation="int32"),
        NumericsProfile("fp32-kv-fp8", weights="as-stored", kv="fp8-e4m3"),
        NumericsProfile("fp32-kv-int8", weights="as-stored", kv="int8"),
        NumericsProfile("fp64", weights="as-stored", activations="fp64", kv="fp64", accumulation="fp64"),
    )
}
"""Those that no endpoint is held against unless it is said to run them: no cause is sought among them."""


def profile_named(name: str) -> NumericsProfile:
    """Raises EngineRequestError for a name that is not registered."""
    every = PROFILES | FURTHER_PROFILES
    if name not in every:
        raise EngineRequestError(f"Unknown profile {name!r}.", remedy=f"Use one of: {', '.join(every)}.")
    return every[name]

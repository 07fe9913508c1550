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
ValueFormat = Literal["fp32", "bf16"]


@dataclass(frozen=True, slots=True)
class NumericsProfile:
    """One recipe.

    `weights` says how the weights of linear layers are altered before use, `group_size` over how many inputs a scale
    is shared where the format has groups. `activations` is the format every intermediate value is rounded to, `kv` the
    one keys and values are stored in, `accumulation` the one products are summed in. Matrix products run in float32.
    """

    name: str
    weights: WeightFormat
    activations: ValueFormat = "fp32"
    kv: ValueFormat = "fp32"
    accumulation: Literal["fp32"] = "fp32"
    group_size: int | None = None

    def canonical_json(self) -> str:
        """Every field that changes numbers, in one fixed spelling; the name is not among them."""
        fields = {key: value for key, value in asdict(self).items() if key != "name"}
        return json.dumps(fields, sort_keys=True, separators=(",", ":"))

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.canonical_json().encode()).hexdigest()


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


def profile_named(name: str) -> NumericsProfile:
    """Raises EngineRequestError for a name that is not registered."""
    profile = PROFILES.get(name)
    if profile is None:
        raise EngineRequestError(f"Unknown profile {name!r}.", remedy=f"Use one of: {', '.join(PROFILES)}.")
    return profile

"""The choices in the order of operations that a lawful implementation of a profile is free to make."""

from __future__ import annotations

from dataclasses import dataclass

from reference_engine.ops.cpu import KEY_BLOCK


@dataclass(frozen=True, slots=True)
class Order:
    """One set of choices; the default one is canonical.

    row_tile: rows of a matrix product computed at a time (None: all). splits: parts of a linear layer's inputs whose
    products are summed apart and then added. shards: the same over devices, for the layers whose inputs are spread over
    them: each part is rounded to the activations' format before it is added. key_block: keys that attention takes in at
    a time. key_splits: parts of the keys whose sums attention joins at the end. The rest says where values between two
    operations are rounded to the activations' format: a fused kernel rounds its result only.
    """

    row_tile: int | None = None
    splits: int = 1
    shards: int = 1
    key_block: int = KEY_BLOCK
    key_splits: int = 1
    rounds_before_bias: bool = False
    rounds_before_norm_weight: bool = False
    rounds_rotation_products: bool = False
    rounds_silu: bool = True
    rounds_attention_weights: bool = False


CANONICAL = Order()

"""The noise cloud: its size in each format, and that a seed fixes it."""

from __future__ import annotations

import random

import numpy as np
import pytest

from reference_engine.forward.order import CANONICAL
from reference_engine.noise import cloud, drawn_order
from tests.reference_engine.forward.sequences import EVERY_PROFILE, stored
from tests.reference_engine.tiny_models import VOCABULARY, TinyModel

IDS = random.Random(5).choices(range(VOCABULARY), k=70)
TOKENS = np.array([[id_, 3, -1] for id_ in [*IDS[1:], 0]], dtype=np.int32)


def deviations(model: TinyModel, profile: str, *, draws: int = 4, seed: int = 1) -> np.ndarray:
    store, config = stored(model)
    recipe = EVERY_PROFILE[profile]
    return cloud(config, store.weights(recipe), recipe, IDS, TOKENS, draws=draws, seed=seed)


@pytest.mark.parametrize(
    ("profile", "least", "most"),
    [("fp32", 1e-8, 1e-5), ("bf16", 1e-3, 0.1), ("w8a8", 1e-4, 0.1), ("fp32-kv-int8", 1e-8, 1e-2), ("fp64", 0.0, 1e-6)],
)
def test_lawful_orders_are_as_far_apart_as_the_format_is_coarse(
    tiny_llama: TinyModel, profile: str, least: float, most: float
) -> None:
    cloud_of = deviations(tiny_llama, profile)

    assert cloud_of.shape == (4, len(IDS), 3)
    assert np.isnan(cloud_of[:, :, 2]).all()
    assert least <= np.nanstd(cloud_of) <= most


def test_a_seed_fixes_the_cloud_and_another_gives_another(tiny_llama: TinyModel) -> None:
    first, again, other = (deviations(tiny_llama, "bf16", draws=2, seed=seed)[:, :, :2] for seed in (1, 1, 2))

    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_draws_cover_every_choice_and_none_is_taken_for_canonical() -> None:
    orders = [drawn_order(0, draw) for draw in range(200)]

    for name in CANONICAL.__dataclass_fields__:
        assert len({getattr(order, name) for order in orders}) > 1
    assert {order.shards for order in orders} == {1, 2, 4, 8}
    assert len(set(orders)) > 150

"""The noise cloud: its size in each format, that a seed fixes it, and that the engine itself lies within it."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reference_engine import EngineRequestError, noise_cloud
from reference_engine.engine import Engine
from reference_engine.forward.order import CANONICAL
from reference_engine.noise import drawn_order
from tests.reference_engine.tiny_models import VOCABULARY

IDS = random.Random(5).choices(range(VOCABULARY), k=130)
TOKENS = [[id_, 3, -1] for id_ in [*IDS[1:], 0]]


def deviations(engine: Engine, profile: str, *, draws: int = 4, seed: int = 1) -> np.ndarray:
    return noise_cloud(engine, IDS, TOKENS, profile=profile, draws=draws, seed=seed)


@pytest.mark.parametrize(
    ("profile", "least", "most"),
    [("fp32", 1e-8, 1e-5), ("bf16", 1e-3, 0.1), ("w8a8", 1e-4, 0.1), ("fp32-kv-int8", 1e-8, 1e-2), ("fp64", 0.0, 1e-6)],
)
def test_lawful_orders_are_as_far_apart_as_the_format_is_coarse(
    tiny_engine: Engine, profile: str, least: float, most: float
) -> None:
    cloud = deviations(tiny_engine, profile)

    assert cloud.shape == (4, len(IDS), 3)
    assert np.isnan(cloud[:, :, 2]).all()
    assert least <= np.nanstd(cloud) <= most


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    ids=st.lists(st.integers(0, VOCABULARY - 1), min_size=1, max_size=90),
    token=st.integers(0, VOCABULARY - 1),
    seed=st.integers(0, 2**32),
    profile=st.sampled_from(["fp32", "w4-g64", "w8-channel"]),
)
def test_where_only_sums_are_rounded_no_lawful_order_is_a_ten_thousandth_of_a_nat_away(
    tiny_engine: Engine, ids: list[int], token: int, seed: int, profile: str
) -> None:
    cloud = noise_cloud(tiny_engine, ids, [[token]] * len(ids), profile=profile, draws=2, seed=seed)

    assert np.abs(cloud).max() < 1e-4
    assert np.array_equal(
        cloud, noise_cloud(tiny_engine, ids, [[token]] * len(ids), profile=profile, draws=2, seed=seed)
    )


@pytest.mark.parametrize("profile", ["fp32", "bf16", "w8a8", "w4-g64"])
def test_the_engine_lies_within_the_cloud(tiny_engine: Engine, profile: str) -> None:
    """No further from the lawful orders than these are from each other."""
    cloud = deviations(tiny_engine, profile, draws=8)[:, :, :2]

    from_the_engine = np.sqrt((cloud**2).mean(axis=(1, 2)))
    from_each_other = [np.sqrt(((one - other) ** 2).mean()) for at, one in enumerate(cloud) for other in cloud[:at]]
    assert np.median(from_the_engine) <= 1.5 * max(from_each_other)


def test_a_seed_fixes_the_cloud_and_another_gives_another(tiny_engine: Engine) -> None:
    first, again, other = (deviations(tiny_engine, "bf16", draws=2, seed=seed)[:, :, :2] for seed in (1, 1, 2))

    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_the_first_draws_of_a_seed_are_the_same_however_many_follow(tiny_engine: Engine) -> None:
    few, many = (deviations(tiny_engine, "bf16", draws=draws)[:, :, :2] for draws in (2, 4))

    assert np.array_equal(few, many[:2])


def test_draws_cover_every_choice_and_none_is_taken_for_canonical() -> None:
    orders = [drawn_order(0, draw) for draw in range(200)]

    for name in CANONICAL.__dataclass_fields__:
        assert len({getattr(order, name) for order in orders}) > 1
    assert {order.shards for order in orders} == {1, 2, 4, 8}
    assert len(set(orders)) > 150


@pytest.mark.parametrize(
    ("ids", "tokens", "draws"), [([5, 6], [[1]], 4), ([5, 6], [[1], [1, 2]], 4), ([5], [[1]], 0), ([5], [[10**6]], 1)]
)
def test_a_cloud_that_cannot_be_is_refused(
    tiny_engine: Engine, ids: list[int], tokens: list[list[int]], draws: int
) -> None:
    with pytest.raises(EngineRequestError):
        noise_cloud(tiny_engine, ids, tokens, draws=draws)

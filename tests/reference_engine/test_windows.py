"""Models whose layers, all or some, look back at a few tokens only: the contract holds."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reference_engine.engine import Engine
from tests.reference_engine.test_contract import ASKED, Asked, kernels_run_here, opened
from tests.reference_engine.tiny_models import TinyModel, write_tiny_model

KINDS = ("mistral-window", "qwen2-window")
PROFILES = ("fp32", "w8a8", "w4-g64")
# Eight and twelve frames of the arena: fewer than the requests want together.
LITTLE = {"mistral-window": 8 * 12_288, "qwen2-window": 12 * 8_192}


@pytest.fixture(scope="module", params=KINDS)
def windowed(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> tuple[str, TinyModel]:
    return request.param, write_tiny_model(tmp_path_factory.mktemp("tiny"), request.param)


@pytest.fixture(scope="module")
def roomy(windowed: tuple[str, TinyModel]) -> Iterator[Engine]:
    engine = opened(windowed[1], threads=1, token_budget=4096)
    yield engine
    engine.close()


@pytest.fixture(scope="module", params=["none", "ngram", "model"])
def cramped(windowed: tuple[str, TinyModel], request: pytest.FixtureRequest) -> Iterator[Engine]:
    kind, model = windowed
    engine = opened(
        model, threads=2, token_budget=24, max_running=5, kv_bytes=LITTLE[kind], draft=request.param, most_drafted=5
    )
    yield engine
    engine.close()


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(ASKED, st.sampled_from(PROFILES)), min_size=1, max_size=9))
def test_every_number_has_the_bits_it_has_alone(roomy: Engine, cramped: Engine, many: list[tuple[Asked, str]]) -> None:
    """Under several profiles at once, whose requests are in each other's way."""
    for profile in PROFILES:
        exactness, remark = roomy.exactness(profile)
        if exactness != "bitwise":
            assert not kernels_run_here(), remark
            pytest.skip(f"torch computes here, and its arithmetic is not bitwise: {remark}")
    expected = [asked.answer(roomy, profile) for asked, profile in many]

    with ThreadPoolExecutor(len(many)) as callers:
        found = list(callers.map(lambda each: each[0].answer(cramped, each[1]), many))

    assert found == expected
    assert [cramped.exactness(profile) for profile in PROFILES] == [("bitwise", None)] * len(PROFILES)

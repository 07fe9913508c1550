"""The profiles of one engine, and the memory that they share."""

from __future__ import annotations

import pytest

from reference_engine.errors import EngineRequestError
from tests.reference_engine.test_contract import LITTLE, kernels_run_here, opened
from tests.reference_engine.tiny_models import TinyModel


@pytest.mark.skipif(not kernels_run_here(), reason="torch's arithmetic may not be bitwise")
def test_a_profile_is_tested_also_when_the_cache_fills_the_memory(tiny_llama: TinyModel) -> None:
    engine = opened(tiny_llama, kv_bytes=LITTLE)
    for first in range(2, 12):
        engine.score([first] * 100, top_k=5)

    found = engine.exactness("w8a8")

    engine.close()
    assert found == ("bitwise", None)


def test_too_little_memory_is_said_with_the_least_that_will_do(tiny_llama: TinyModel) -> None:
    with pytest.raises(EngineRequestError, match=r"^1,000 bytes are too little") as refused:
        opened(tiny_llama, kv_bytes=1000)
    least = int(refused.value.remedy.split()[2])
    with pytest.raises(EngineRequestError, match="too little"):
        opened(tiny_llama, kv_bytes=least - 1)

    engine = opened(tiny_llama, kv_bytes=least)

    told = {profile: engine.exactness(profile) for profile in ("fp32", "w8a8", "fp64")}
    scored = engine.score([5, 6, 7], top_k=5)
    engine.close()
    assert told["fp64"] == ("oracle", None)
    if kernels_run_here():
        assert told["fp32"] == told["w8a8"] == ("bitwise", None)
    assert len(scored.positions) == 4

from __future__ import annotations

from collections.abc import Iterator

import pytest

from reference_engine.native.build import KernelsUnavailableError, offered
from reference_engine.native.library import Kernels


@pytest.fixture(scope="session")
def every_kernels() -> Iterator[list[Kernels]]:
    """Each instruction set that this processor runs, with one thread and with two."""
    try:
        found = [Kernels(isa, threads) for isa in offered() for threads in (1, 2)]
    except KernelsUnavailableError as error:
        pytest.skip(f"no kernels here: {error}")
    if not found:
        pytest.skip("no kernels for this processor")
    yield found
    for kernels in found:
        kernels.close()


@pytest.fixture(scope="session")
def kernels(every_kernels: list[Kernels]) -> Kernels:
    return every_kernels[-1]

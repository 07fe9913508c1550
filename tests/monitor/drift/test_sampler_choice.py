from __future__ import annotations

import pytest

from monitor.drift.evidence import Inapplicable
from monitor.drift.request_temperature import LogprobsMode
from monitor.drift.sampler import Fired
from monitor.drift.sampler_choice import SamplerTest, sampler_test

FIRED = Fired("temperature 0.7", 1e6)


@pytest.mark.parametrize(
    ("mode", "fired", "has_reference", "test"),
    [
        (LogprobsMode.RAW, None, False, SamplerTest.STATED),
        (LogprobsMode.RAW, FIRED, True, SamplerTest.PAST),
        (LogprobsMode.PROCESSED, None, True, SamplerTest.FACTORS),
        (None, None, True, SamplerTest.PAST),
    ],
)
def test_an_endpoint_gets_the_strongest_test_that_holds_for_it(
    mode: LogprobsMode | None, fired: Fired | None, has_reference: bool, test: SamplerTest
) -> None:
    assert sampler_test(mode, fired, has_reference=has_reference) is test


def test_an_endpoint_that_shows_nothing_is_inapplicable() -> None:
    assert isinstance(sampler_test(None, None, has_reference=False), Inapplicable)
    assert isinstance(sampler_test(LogprobsMode.UNCLEAR, None, has_reference=True), Inapplicable)

"""Which test of the sampler an endpoint can be given, from what its enrolment showed."""

from __future__ import annotations

from enum import StrEnum

from monitor.drift.evidence import Inapplicable
from monitor.drift.request_temperature import LogprobsMode
from monitor.drift.sampler import Fired


class SamplerTest(StrEnum):
    STATED = "stated"  # sampler.of_sampler: exact, from the first draw on
    PAST = "past"  # sampler_past.of_past: with the endpoint's own log-probabilities, or the reference's
    FACTORS = "factors"  # request_temperature.of_factors


def sampler_test(mode: LogprobsMode | None, fired: Fired | None, *, has_reference: bool) -> SamplerTest | Inapplicable:
    """mode: None where the endpoint gives no log-probabilities; fired: as found at enrolment by `sampler.fired`."""
    match mode:
        case LogprobsMode.RAW:
            return SamplerTest.STATED if fired is None else SamplerTest.PAST
        case LogprobsMode.PROCESSED:
            return SamplerTest.FACTORS
        case None if has_reference:
            return SamplerTest.PAST
        case None:
            return Inapplicable("the endpoint gives no log-probabilities, and it has no reference")
        case _:
            return Inapplicable("log-probabilities move with the temperature, and not as one over it")

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest

from benchmarks.simulated.fleets import Backends, Lawful
from monitor.drift.evidence import Scores, StreamKey, Tier
from monitor.drift.fleet import FAR_DELTA, SHARE_DELTA, Fleet, RoundShares, evidence
from monitor.drift.levels import DAY
from monitor.drift.mixtures import Mixture, mixture

LAWFUL = Lawful(0.03)


@cache
def enrolled() -> tuple[Fleet, Backends]:
    """Two stacks of 70 % and 30 %; the backends have a third one that was not met."""
    rng = np.random.default_rng(0)
    backends = Backends.of(rng, 3, 0.071, prompts=4)
    answers, _ = backends.asked(rng, LAWFUL, [0.7, 0.3, 0.0], 100)
    found = mixture(answers, LAWFUL.noise)
    assert isinstance(found, Mixture)
    return Fleet.of(found, answers), backends


def asked(chances: list[float], repeats: int = 50, lawful: Lawful = LAWFUL) -> RoundShares:
    fleet, backends = enrolled()
    return fleet.round(0.0, backends.round(np.random.default_rng(1), lawful, chances, repeats))


def test_a_rounds_answers_are_counted_by_stack() -> None:
    found = asked([0.4, 0.6, 0.0])
    assert found.answers == found.telling == 200
    assert found.share(0) == pytest.approx(0.4, abs=0.1)
    assert found.share(1) == pytest.approx(0.6, abs=0.1)
    assert found.far <= 4


def test_answers_of_a_stack_that_was_not_met_are_far_and_of_no_known_one() -> None:
    found = asked([0.0, 0.0, 1.0])
    assert found.far >= 190
    assert sum(found.told) <= 10
    assert (found.share(0) or 0.0) + (found.share(1) or 0.0) <= 0.05


def test_heavy_tails_and_a_noisier_day_make_few_answers_far() -> None:
    assert (asked([0.7, 0.3, 0.0], lawful=Lawful(0.03, uneven=0.2)).far_share or 0.0) <= enrolled()[0].far


def test_what_is_lawful_is_wider_than_what_was_enrolled() -> None:
    fleet, _ = enrolled()
    for share, lawful, least in zip(fleet.shares, fleet.lawful, fleet.least, strict=True):
        assert least < share < share + SHARE_DELTA < lawful
    assert fleet.far > FAR_DELTA


def test_json_keeps_a_fleet_to_the_last_bit() -> None:
    fleet, backends = enrolled()
    text = json.dumps(fleet.to_json(), allow_nan=False)
    again = Fleet.from_json(json.loads(text))
    assert json.dumps(again.to_json()) == text
    answers = backends.round(np.random.default_rng(2), LAWFUL, [0.5, 0.3, 0.2], 20)
    assert again.round(1.0, answers) == fleet.round(1.0, answers)
    assert len(text) < 20_000


def test_another_version_is_refused_with_its_number() -> None:
    with pytest.raises(ValueError, match="version 7"):
        Fleet.from_json(enrolled()[0].to_json() | {"version": 7})


def test_answers_with_too_few_tokens_and_prompts_that_were_not_enrolled_are_left_out() -> None:
    fleet, backends = enrolled()
    answers = backends.round(np.random.default_rng(3), LAWFUL, [1.0, 0.0, 0.0], 4)
    answers["prompt 0"][:, 5:] = np.nan
    answers["another"] = answers["prompt 1"]
    assert fleet.round(0.0, answers).answers == 12
    nothing = fleet.round(0.0, {})
    assert nothing.share(0) is None
    assert nothing.far_share is None
    assert evidence(fleet, StreamKey("e", Tier.LOGPROBS, "1"), nothing) == ()


def test_days_that_differ_raise_what_is_lawful() -> None:
    fleet, _ = enrolled()
    rng = np.random.default_rng(4)
    rounds = []
    for day in range(10):
        second = rng.beta(3, 7)
        for hour in range(24):
            told = int(rng.binomial(8, second))
            rounds.append(RoundShares(day * DAY + hour * 3_600.0, (8 - told, told), 8, 0, 8))
    wider = fleet.with_days(rounds)
    assert wider.lawful[1] > fleet.lawful[1] + 0.1
    assert wider.far == fleet.far
    assert fleet.with_days(rounds[:72]).lawful == fleet.lawful


def test_a_round_is_evidence_of_a_stream_a_stack_and_one_of_the_unknown() -> None:
    fleet, _ = enrolled()
    given = evidence(fleet, StreamKey("e", Tier.LOGPROBS, "v1"), RoundShares(5.0, (6, 1), 8, 1, 8))
    assert {one.stream.probe_set: one.says for one in given} == {
        "v1/stack-1": Scores((0.75,)),
        "v1/stack-2": Scores((0.125,)),
        "v1/unknown": Scores((0.125,)),
    }
    assert {(one.at, one.n, one.stream.endpoint) for one in given} == {(5.0, 8, "e")}

"""What a run's draws are found to be, and what streams are told: by the endpoint's word, by its past, or nothing."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
import pytest

from monitor.drift.evidence import Factors, Inapplicable, Scores
from monitor.drift.observation import FloatArray, Observation
from monitor.drift.rule import Verdict
from monitor.drift.sampling import LEAST_DRAWS, Sampling, assess_sampling, draws_of
from tests.monitor.drift.listed_draws import falling, tempered

TEMPERATURES = (1.0, 0.5)
QUESTIONS = ("00000001", "00000002", "0000000a", "fffffff0")
LISTED = 20
P = falling(2.8)


@cache
def at_temperature(value: float) -> FloatArray:
    return tempered(P, value)


@dataclass
class Made:
    """Draws one token at a time. `temperature` is what its sampler multiplies the one asked for by; `processed`: values
    are those after the sampler; `copies`: the first answer to a question is given again."""

    seed: int = 0
    temperature: float = 1.0
    processed: bool = False
    listed: int = LISTED
    copies: bool = False
    _rng: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self._rng = np.random.default_rng(self.seed)

    def run(self, draws: int = 25) -> list[Observation]:
        self._given: dict[str, int] = {}
        found = [self._one("draw", name, rep, 1.0) for rep in range(draws) for name in QUESTIONS]
        return found + [self._one("cool", name, rep, 0.5) for rep in range(2) for name in QUESTIONS]

    def runs(self, count: int) -> list[Observation]:
        return [one for _ in range(count) for one in self.run()]

    def _one(self, kind: str, name: str, rep: int, asked: float) -> Observation:
        sampled_from = at_temperature(asked * self.temperature)
        token = int(self._rng.choice(len(P), p=sampled_from))
        if self.copies and kind == "draw":
            token = self._given.setdefault(name, token)
        stated: FloatArray = np.log(sampled_from if self.processed else P)[: self.listed]
        return Observation(
            item_key=f"{kind}-{name}",
            rep=rep,
            anchor=True,
            tokens=tuple(str(number).encode() for number in range(self.listed)),
            logprobs=np.round(stated, 4),
            sampled=str(token).encode(),
            reference_tokens=(),
            expected={},
            prompt_tokens=None,
            expected_prompt_tokens=None,
            response_id=None,
        )


def assessed(now: Made, before: Made, runs: int = 5, *, draws: int = 25, shares: int = 1) -> Sampling:
    return assess_sampling("e", now.run(draws), before.runs(runs), TEMPERATURES, no_past="enrolled", shares=shares)


def test_an_honest_sampler_is_never_drift_and_its_streams_gain_nothing() -> None:
    found = [assessed(Made(seed), Made(1_000 + seed)) for seed in range(40)]

    assert {one.finding.verdict for one in found} == {Verdict.INCONCLUSIVE}
    assert all([piece.stream.probe_set for piece in one.evidence] == ["draws", "copies"] for one in found)
    factors = [piece.says.factors for one in found for piece in one.evidence if isinstance(piece.says, Factors)]
    assert np.mean([np.mean(each) for each in factors]) < 1.5


def test_a_gross_change_is_drift_by_one_run_and_names_what_fits_best() -> None:
    finding = assessed(Made(1, temperature=0.4), Made(2)).finding

    assert finding.verdict is Verdict.DRIFT
    assert "temperature 0.7" in finding.reason


def test_its_p_pays_for_the_other_probes_of_the_check() -> None:
    alone, of_four = (assessed(Made(1, temperature=0.8), Made(2), shares=shares).finding for shares in (1, 4))
    assert alone.p is not None
    assert (alone.adjusted_p, of_four.adjusted_p) == (min(1.0, alone.p), min(1.0, 4 * alone.p))


def test_answers_given_again_are_found() -> None:
    finding = assessed(Made(1, copies=True), Made(2)).finding
    assert finding.verdict is Verdict.DRIFT
    assert "pairs of draws are alike" in finding.reason


@pytest.mark.parametrize("runs", [1, 3])
def test_before_the_baseline_is_large_enough_streams_are_told_nothing(runs: int) -> None:
    found = assessed(Made(1), Made(2), runs)
    assert found.evidence == ()
    assert f"{100 * runs} of {LEAST_DRAWS} draws" in found.finding.reason


def test_a_sampler_that_did_otherwise_from_the_beginning_is_a_property_and_no_drift() -> None:
    found = assessed(Made(1, temperature=0.7), Made(2, temperature=0.7))

    assert found.finding.verdict is Verdict.INCONCLUSIVE
    assert "temperature 0.7" in found.finding.reason
    assert [piece.stream.probe_set for piece in found.evidence] == ["draws/narrower", "draws/wider", "copies"]
    narrower, wider = (piece.says for piece in found.evidence[:2])
    assert isinstance(narrower, Scores)
    assert isinstance(wider, Scores)
    assert max(narrower.mean, wider.mean) < 0.75


def test_that_such_a_sampler_changes_moves_one_of_its_streams() -> None:
    found = assessed(Made(1), Made(2, temperature=0.7))
    narrower, wider = (piece.says for piece in found.evidence[:2])
    assert isinstance(narrower, Scores)
    assert isinstance(wider, Scores)
    assert (narrower.mean, wider.mean > 0.75) == (0.0, True)


@pytest.mark.parametrize(("temperature", "off"), [(1.0, False), (1.0, True)])
def test_values_after_the_sampler_are_watched_by_their_factor(temperature: float, *, off: bool) -> None:
    class Ignores(Made):
        """The temperature asked for does nothing."""

        def _one(self, kind: str, name: str, rep: int, asked: float) -> Observation:
            return super()._one(kind, name, rep, 1.0)

    now = Ignores(1, processed=True) if off else Made(1, temperature, processed=True)
    found = assessed(now, Made(2, processed=True))

    assert found.finding.verdict is Verdict.INCONCLUSIVE
    (piece,) = found.evidence
    assert piece.stream.probe_set == "factors"
    assert isinstance(piece.says, Scores)
    assert (piece.says.mean > 0.9) is off


@pytest.mark.parametrize("listed", [0, 2])
def test_without_lists_nothing_is_said_and_that_is_no_pass(listed: int) -> None:
    found = assessed(Made(1, listed=listed), Made(2, listed=listed))
    assert found.finding.verdict is Verdict.INAPPLICABLE
    (piece,) = found.evidence
    assert isinstance(piece.says, Inapplicable)


def test_without_a_baseline_the_reason_is_said() -> None:
    found = assess_sampling("e", Made(1).run(), [], TEMPERATURES, no_past="enrolled")
    assert (found.finding.verdict, found.finding.reason, found.evidence) == (Verdict.INCONCLUSIVE, "enrolled", ())


def test_one_answer_without_a_list_silences_no_others() -> None:
    before, now = Made(2).runs(5), Made(1).run()
    short = replace(now[3], tokens=(), logprobs=np.array([]))
    found = assess_sampling("e", [*now[:3], short, *now[4:]], before, TEMPERATURES, no_past="")
    assert all(isinstance(piece.says, Factors) for piece in found.evidence)


def test_draws_are_read_in_the_order_in_which_they_came() -> None:
    observations = Made(3).run(5)
    draws = draws_of(observations, LISTED)
    assert len(draws) == 20
    assert draws.prompts.tolist() == [
        int(one.item_key[5:], 16) for one in observations if one.item_key.startswith("draw")
    ]

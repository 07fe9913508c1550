"""G12 in whole: it takes seconds."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.detection_lab.first_tokens import FirstTokenStore
from benchmarks.detection_lab.goals import GOALS, g12
from benchmarks.detection_lab.goals.figure import Figure, Lab
from benchmarks.detection_lab.texts import TextStore
from monitor.drift.evidence import Tier
from monitor.drift.made_up import Cadence
from monitor.drift.offers import Offer
from reference_engine import load_tokenizer
from tests.reference_engine.tiny_models import write_tiny_model


@pytest.mark.model
def test_detection_costs_no_more_than_its_bars(tmp_path: Path) -> None:
    figures = GOALS["G12"](Lab(FirstTokenStore(tmp_path), TextStore(tmp_path), quick=True))

    barred = [figure for figure in figures if figure.most is not None]
    assert len(barred) == 5
    assert [figure.name for figure in barred if not figure.met] == []


def test_a_plan_that_takes_longer_than_wanted_costs_without_end() -> None:
    """Four responses every six hours do not see half of int8 in a day."""
    rare = Offer(Tier.LOGPROBS, (4,), (4,), 55.0, 1.0, "logprobs")
    found = g12.planned(rare, "0.035nat", g12.Surroundings(g12.WITH, g12.ResponseNoise()), 0)
    assert g12.yearly(rare, found) == float("inf")
    assert not Figure("never", g12.yearly(rare, found), most=6.0).met


def test_dollars_are_of_all_prompts_and_of_all_that_answers_may_have(tmp_path: Path) -> None:
    tokenizer = load_tokenizer(write_tiny_model(tmp_path, "llama").folder)
    items = list(g12.audit())
    assert len(items) == g12.GREEDY + g12.RUT + g12.MMD * g12.MMD_REPEATS
    answers = g12.GREEDY * 200 + g12.RUT * g12.RUT_TOKENS + g12.MMD * g12.MMD_REPEATS * g12.MMD_TOKENS
    assert g12.usd(items, tokenizer) > answers * g12.ANSWER_USD / 1e6
    assert g12.usd(items + items, tokenizer) == pytest.approx(2.0 * g12.usd(items, tokenizer))


def test_years_have_days_of_rounds() -> None:
    asked = Offer(Tier.LOGPROBS, (24,), (4,), 100.0, 1.0, "logprobs")
    assert (asked.cost(Cadence(24, 4), g12.PRICES).usd or 0.0) * g12.YEAR == pytest.approx(96 * 365 * 312e-6)

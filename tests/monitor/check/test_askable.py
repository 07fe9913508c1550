"""What tiers ask and what it takes is what the probes send, counted by the tokenizer that is there."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from monitor.check.askable import SCORED_ROUNDS, offer, offers
from monitor.config.service import Schedule
from monitor.drift.anchors import LEAST_PROMPTS
from monitor.drift.evidence import Tier
from monitor.drift.fingerprint import LEAST_ANSWERS
from monitor.drift.levels import BLOCKS
from monitor.drift.made_up import Cadence
from monitor.drift.offers import WITH, WITHOUT, Offer
from probes import logprobs
from probes.accounting import expected_prompt_tokens
from reference_engine import TokenizerBackend, load_tokenizer
from tests.reference_engine.tiny_models import write_tiny_model

AT = datetime(2026, 11, 30, tzinfo=UTC)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> TokenizerBackend:
    return load_tokenizer(write_tiny_model(tmp_path_factory.mktemp("model"), "llama").folder)


def of(tier: Tier, tokenizer: TokenizerBackend | None = None, *, has_reference: bool = False) -> Offer:
    found = offer(tier, tokenizer, AT, has_reference=has_reference)
    assert found is not None
    return found


def test_a_fingerprints_prompts_are_those_of_the_probe(tokenizer: TokenizerBackend) -> None:
    items = logprobs.plan(bytes(32), bytes(16), n=60, has_reference=False).items
    counted = [expected_prompt_tokens(tokenizer, item.request) for item in items]
    found = of(Tier.LOGPROBS, tokenizer)
    assert found.prompt == pytest.approx(sum(counted) / len(counted))
    assert (found.completion, found.sent) == (1.0, 1.0)


def test_where_there_is_a_reference_half_of_the_requests_have_no_past() -> None:
    assert of(Tier.LOGPROBS, has_reference=True).sent == 2.0


@pytest.mark.parametrize("has_reference", [False, True])
def test_every_cadence_of_a_fingerprint_enrols_it_though_rounds_are_missed(has_reference: bool) -> None:
    found = of(Tier.LOGPROBS, has_reference=has_reference)
    for requests in found.requests:
        for rounds in found.rounds:
            asked = found.asked(Cadence(rounds, requests))
            anchors = [
                item.key
                for item in logprobs.plan(bytes(32), bytes(16), n=asked, has_reference=has_reference).items
                if item.anchor
            ]
            assert len(anchors) == requests
            assert len(set(anchors)) >= LEAST_PROMPTS
            of_each = len(anchors) // len(set(anchors))
            assert of_each * rounds * 28 * 0.8 >= LEAST_ANSWERS
            assert found.ready_days(Cadence(rounds, requests)) == max(14.0, LEAST_ANSWERS / of_each / rounds)


def test_without_a_tokenizer_tokens_are_guessed(tokenizer: TokenizerBackend) -> None:
    assert of(Tier.BORDER).prompt != of(Tier.BORDER, tokenizer).prompt
    assert of(Tier.BORDER).prompt > 0.0


def test_tiers_that_schedules_ask_name_a_probe_that_they_take() -> None:
    for tier in (*WITH, Tier.BORDER):
        found = offer(tier, None, AT, has_reference=True)
        if found is not None and found.probe is not None:
            Schedule.model_validate({"id": "x", "every": "1h", "probes": [found.probe]})


def test_a_tool_call_check_is_asked_whole() -> None:
    found = of(Tier.CAPABILITY)
    assert len(found.requests) == 1
    assert found.requests[0] * found.sent > 200
    assert found.probe == "tool_calls"


def test_scored_rounds_are_spread_over_all_parts_of_a_day_at_whole_minutes() -> None:
    assert min(SCORED_ROUNDS) >= BLOCKS
    assert all(24 * 60 % rounds == 0 for rounds in SCORED_ROUNDS)


def test_what_does_not_fit_into_a_check_at_the_providers_rate_is_not_offered() -> None:
    """At one request a minute eight fit into 420 seconds."""
    free, slow = (
        offers([Tier.LOGPROBS], None, AT, has_reference=False),
        offers([Tier.LOGPROBS], None, AT, has_reference=False, rpm=1),
    )
    assert max(free[0].requests) > 8
    assert slow[0].requests == (8,)
    assert offers([Tier.CAPABILITY], None, AT, has_reference=False, rpm=1) == []


def test_tiers_that_cost_nothing_or_are_asked_on_suspicion_are_left_out() -> None:
    found = {one.tier for one in offers(WITHOUT, None, AT, has_reference=True)}
    assert found == {Tier.BORDER, Tier.GREEDY, Tier.CAPABILITY}

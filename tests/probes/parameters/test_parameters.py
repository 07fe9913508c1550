"""The parameter probe against an endpoint that honours everything, and one for each way not to."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import pytest

from probes.capabilities import Capabilities
from probes.parameters.experiments import TWINNED
from probes.parameters.judgement import ALPHA_ACTS, ALPHA_IGNORED, Effect, Judgement
from probes.parameters.probe import NAMES, judge, plan
from probes.plan import Outcome, Sample
from tests.endpoints.parametric import VOCABULARY, Parametric
from tests.endpoints.server import ScriptedServer
from tests.probes.sending import send, target

SEED, NONCE = bytes(range(32)), b"one run's nonce."
ACTING = frozenset(name for name in NAMES if not name.endswith(".invalid"))


def samples_of(endpoint: Parametric, only: Collection[str] = NAMES, **settings: Any) -> list[Sample]:
    made = plan(SEED, NONCE, only=only, tokenizer=VOCABULARY, **settings)
    with ScriptedServer(endpoint) as server:
        answers = send(target(server.base_url, max_concurrency=1), made)
    assert answers.error is None
    return answers.samples


def judged(endpoint: Parametric, only: Collection[str] = NAMES, **settings: Any) -> dict[str, Judgement]:
    found = judge(samples_of(endpoint, only, **settings), VOCABULARY)
    return {f"{one.parameter}.{one.aspect}".rstrip("."): one for one in found}


def effects(endpoint: Parametric, only: Collection[str] = NAMES, **settings: Any) -> dict[str, Effect]:
    return {name: one.effect for name, one in judged(endpoint, only, **settings).items()}


LAWFUL = {name: Effect.ACTS if name in ACTING else Effect.REFUSED for name in NAMES}


def test_at_a_lawful_endpoint_every_parameter_acts_and_every_invalid_value_is_refused() -> None:
    found = judged(Parametric())

    assert {name: one.effect for name, one in found.items()} == LAWFUL
    assert all(one.error is not None and one.error <= ALPHA_ACTS for one in found.values() if one.effect is Effect.ACTS)


def test_greedy_answers_that_differ_now_and_then_are_not_held_against_an_endpoint() -> None:
    found = effects(Parametric(greedy_noise=0.2), TWINNED)

    assert Effect.IGNORED not in found.values()


@pytest.mark.parametrize("name", ["temperature", "top_p", "top_k", "seed", "stop", "n", "logit_bias"])
def test_a_parameter_that_is_ignored_turns_its_own_judgements_and_no_other(name: str) -> None:
    found = judged(Parametric(ignores=frozenset({name})))

    turned = {one for one, judgement in found.items() if judgement.effect is not LAWFUL[one]}
    assert turned == {one for one in ACTING if one.partition(".")[0] == name}
    # Where no id is seen to mean what it should, a ban tells nothing.
    for one in turned - {"logit_bias.banned"}:
        assert found[one].effect is Effect.IGNORED
        assert (found[one].error or 0) <= ALPHA_IGNORED


def test_a_ban_is_not_judged_by_ids_that_mean_another_token_there() -> None:
    found = judged(Parametric(shift=7), ["logit_bias.forced", "logit_bias.banned"])

    assert found["logit_bias.forced"].effect is Effect.ACTS
    assert found["logit_bias.banned"].effect is Effect.UNCLEAR


def test_bans_alone_that_are_ignored_are_found() -> None:
    class Lenient(Parametric):
        def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
            bias = {one: value for one, value in request.get("logit_bias", {}).items() if value > 0}
            return super().answer({**request, "logit_bias": bias})

    found = judged(Lenient(), ["logit_bias.forced", "logit_bias.banned"])

    assert {name: one.effect for name, one in found.items()} == {
        "logit_bias.forced": Effect.ACTS,
        "logit_bias.banned": Effect.IGNORED,
    }


@pytest.mark.parametrize("name", ["max_tokens", "response_format", "tool_choice"])
def test_a_ruled_parameter_that_is_ignored_turns_all_its_aspects(name: str) -> None:
    found = effects(Parametric(ignores=frozenset({name})), [one for one in NAMES if one != "logit_bias.banned"])

    assert {one for one, effect in found.items() if effect is not LAWFUL[one]} == {
        one for one in ACTING if one.partition(".")[0] == name
    }
    assert {found[one] for one in ACTING if one.partition(".")[0] == name} == {Effect.IGNORED}


def test_an_endpoint_that_is_greedy_whatever_it_is_told_ignores_temperature_and_hides_the_rest() -> None:
    found = judged(Parametric(ignores=frozenset({"temperature", "seed", "top_p"}), default_temperature=0))

    assert found["temperature"].effect is Effect.IGNORED
    assert {found[name].effect for name in ("top_p", "top_k", "seed")} == {Effect.UNCLEAR}
    assert found["seed"].reason == "free answers do not differ either"


@pytest.mark.parametrize("name", ["temperature", "top_k", "seed", "stop", "n", "logit_bias", "tool_choice"])
def test_a_parameter_that_is_refused_by_name_is_refused(name: str) -> None:
    only = [one for one in ACTING if one.partition(".")[0] == name]
    known = Capabilities(unsupported=frozenset({name}) & {"temperature"})

    assert set(effects(Parametric(refuses=frozenset({name})), only, capabilities=known).values()) == {Effect.REFUSED}


def test_where_temperature_is_refused_the_others_are_judged_without_it() -> None:
    known = Capabilities(unsupported=frozenset({"temperature"}), token_limit_parameter="max_completion_tokens")
    found = effects(Parametric(refuses=frozenset({"temperature", "max_tokens"})), capabilities=known)

    turned = {one for one in found if found[one] is not LAWFUL[one]}
    # Without a temperature nothing is greedy, and of the free arm nothing is refused.
    assert turned == {"temperature"}
    assert found["temperature"] is Effect.REFUSED


def test_a_temperature_too_high_for_an_endpoint_is_no_refusal_of_the_parameter() -> None:
    cool = Parametric(hottest=1.0)

    assert set(effects(cool, TWINNED).values()) == {Effect.UNCLEAR}
    assert set(effects(cool, TWINNED, hot=1.0).values()) == {Effect.ACTS}


def test_a_refusal_that_names_nothing_is_none() -> None:
    found = judged(Parametric(refuses=frozenset({"top_k"}), says="Bad request."), ["top_k"])

    assert found["top_k"].effect is Effect.UNCLEAR
    assert found["top_k"].reason == "refused without naming it"


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_server_in_trouble_refuses_nothing(status: int) -> None:
    samples = samples_of(Parametric(), ["n"])
    ill = [
        Sample(one.item, Outcome.RATE_LIMITED if status == 429 else Outcome.HTTP_ERROR, None, one.attempts)
        for one in samples
    ]

    (found,) = judge(ill)
    assert (found.effect, found.reason) == (Effect.UNCLEAR, "no answer shows it")
    assert found.counts == {"failed": 3}


def test_values_that_mean_nothing_and_are_answered_like_any_other_are_ignored() -> None:
    lax = frozenset(name.partition(".")[0] for name in NAMES)
    only = [name for name in NAMES if name.endswith(".invalid")]

    assert set(effects(Parametric(lax=lax), only).values()) == {Effect.IGNORED}


def test_two_variants_of_which_one_honours_a_parameter_are_neither() -> None:
    found = judged(Parametric(ignores=frozenset({"n"}), half=True), ["n"], trials=8)

    assert (found["n"].effect, found["n"].reason) == (Effect.UNCLEAR, "honoured at times")


def test_answers_from_a_cache_say_nothing_of_sampling() -> None:
    found = judged(Parametric(caches=True, ignores=frozenset({"temperature"})), ["temperature", "seed"])

    assert {one.effect for one in found.values()} == {Effect.UNCLEAR}
    assert found["seed"].counts["pairs"] == 0


def test_few_samples_are_unclear_and_not_ignored() -> None:
    found = judged(Parametric(ignores=frozenset({"seed", "n"})), ["seed", "n"], pairs=3, trials=1)

    assert {one.effect for one in found.values()} == {Effect.UNCLEAR}
    assert {one.reason for one in found.values()} == {"too few samples"}


def test_without_a_tokenizer_no_bias_is_asked() -> None:
    names = {item.key.split("/")[1] for item in plan(SEED, NONCE).items}

    assert names & {"seed", "n"} == {"seed", "n"}
    assert not names & {"logit_bias.forced", "logit_bias.banned"}


def test_wording_is_private_to_a_seed_and_used_once() -> None:
    texts = [
        {str(item.request["messages"]) for item in plan(seed, nonce, tokenizer=VOCABULARY).items[1:]}
        for seed, nonce in ((SEED, NONCE), (SEED, b"another"), (bytes(32), NONCE))
    ]

    assert not texts[0] & texts[1]
    assert not texts[0] & texts[2]
    assert plan(SEED, NONCE) == plan(SEED, NONCE)

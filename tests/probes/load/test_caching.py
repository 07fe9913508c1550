"""Stored answers, told from answers that are made again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from probes.completion import Completion, Usage
from probes.load.caching import Caching, CachingFinding, caching, plan
from probes.plan import Attempt, Item, Outcome, Sample
from probes.quirks import Disposition
from tests.endpoints.scripted_model import ScriptedModel
from tests.endpoints.server import ScriptedServer
from tests.probes.sending import send, target

SEED, NONCE = bytes(32), b"nonce"
START = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)


def sample(
    prompt: int,
    rep: int,
    *,
    answer_id: str,
    created: int | None = None,
    seconds: float = 2.0,
    headers: Mapping[str, str] | None = None,
) -> Sample:
    sent_at = START + timedelta(seconds=60 * rep)
    made = int(sent_at.timestamp()) if created is None else created
    body = json.dumps({"id": answer_id, "created": made, "choices": []}).encode()
    completion = Completion(Disposition.ACCEPT, (), 200, id=answer_id, usage=Usage(completion_tokens=48))
    attempt = Attempt(200, headers or {}, body, sent_at, seconds)
    return Sample(Item(f"replay/{prompt}", rep, {}), Outcome.OK, completion, (attempt,))


def fresh(prompt: int, rep: int) -> Sample:
    return sample(prompt, rep, answer_id=f"chatcmpl-{prompt}-{rep}")


def with_replay(replay: Sample, others: int = 3) -> CachingFinding:
    more = [fresh(prompt, rep) for prompt in range(1, others + 1) for rep in range(2)]
    return caching([fresh(0, 0), replay, *more])


def test_every_prompt_is_sent_twice_and_the_second_round_comes_last() -> None:
    items = plan(SEED, NONCE, pairs=4).items

    assert [item.rep for item in items] == [0] * 4 + [1] * 4
    assert [item.request for item in items[:4]] == [item.request for item in items[4:]]
    assert len({item.key for item in items}) == 4


def test_a_cache_is_found_through_the_wire_and_an_endpoint_without_one_is_fresh() -> None:
    def found(model: ScriptedModel) -> CachingFinding:
        with ScriptedServer(model) as server:
            return caching(send(target(server.base_url), plan(SEED, NONCE)).samples)

    assert found(ScriptedModel(caches=True)) == CachingFinding(Caching.CACHED, 4, {"same id": 4})
    assert found(ScriptedModel()) == CachingFinding(Caching.FRESH, 4, {})


def test_an_endpoint_that_gives_every_answer_the_same_id_is_not_taken_for_a_cache() -> None:
    both = [sample(prompt, rep, answer_id="chatcmpl-7f01") for prompt in range(3) for rep in range(2)]

    assert caching(both).caching is Caching.FRESH


def test_an_answer_that_says_it_was_made_when_the_first_was_is_stored() -> None:
    old = sample(0, 1, answer_id="chatcmpl-new", created=int(START.timestamp()))

    assert with_replay(old).signs == {"same time of making": 1}


def test_a_time_of_making_that_never_changes_is_none() -> None:
    both = [sample(prompt, rep, answer_id=f"c-{prompt}-{rep}", created=1) for prompt in range(3) for rep in range(2)]

    assert caching(both).caching is Caching.FRESH


def test_an_answer_faster_than_any_model_is_stored() -> None:
    assert with_replay(sample(0, 1, answer_id="chatcmpl-new", seconds=0.004)).signs == {"faster than any model": 1}
    # Quick, but not beyond what a chip can do.
    assert with_replay(sample(0, 1, answer_id="chatcmpl-new", seconds=0.02)).caching is Caching.FRESH


def test_a_header_may_say_so() -> None:
    hit = sample(0, 1, answer_id="chatcmpl-new", headers={"x-cache": "HIT from edge"})

    assert with_replay(hit).signs == {"a header says so": 1}


def test_few_pairs_without_a_sign_are_unclear() -> None:
    assert with_replay(fresh(0, 1), others=1) == CachingFinding(Caching.UNCLEAR, 2, {})
    assert caching([]).caching is Caching.UNCLEAR


def test_a_replay_that_failed_makes_no_pair() -> None:
    lost = Sample(Item("replay/0", 1, {}), Outcome.TIMEOUT, None, ())

    assert with_replay(lost).pairs == 3

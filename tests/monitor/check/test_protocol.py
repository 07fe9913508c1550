"""The protocol probe in whole checks: what changed behind an endpoint turns its own finding, and nothing else does."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from monitor import clock
from monitor.check.options import CheckOptions, Silent
from monitor.check.protocol import LIGHT, protocol_answers, protocol_plan
from monitor.check.reference import OpenReference
from monitor.check.resume import rebuilt, remaining
from monitor.check.run import check_against
from monitor.config import EndpointConfig, load_config
from monitor.datadir import DataDir
from monitor.drift.rule import Verdict
from monitor.redaction import KNOWN_SECRETS
from monitor.store import Store, StoredSample
from monitor.store.bodies import pack, unpack
from monitor.store.browse import Browse
from monitor.store.browse_records import ChangeFilter
from monitor.store.keyset import Window
from monitor.store.protocol_facts import decode_facts, encode_facts
from monitor.store.series import Series, Span, Step
from monitor.store.vocabulary import ChangeKind
from monitor.verdict import VerdictDocument
from probes.completion import Completion, Usage
from probes.parameters.judgement import Effect
from probes.plan import Attempt, Item, Outcome, ProbeKind, Sample
from probes.profile import availability
from probes.quirks import Disposition
from tests.endpoints.echoing import both
from tests.endpoints.parametric import Parametric
from tests.endpoints.server import Connection, Received, ScriptedServer
from tests.endpoints.spoken import Spoken
from tests.probes.sending import send, target
from tests.probes.token_counts.templated import Templated

PRICES = {"input_usd_per_mtok": 1.0, "output_usd_per_mtok": 2.0}
REFERENCE: Any = Templated()
FOUND = (Verdict.DRIFT, Verdict.SUSPECT)


class Watched:
    """An endpoint that is checked again and again; a test may put another one in the place of `spoken`."""

    def __init__(self, base_url: str, folder: Path) -> None:
        self.spoken = Spoken()
        self.data = DataDir(folder / "data")
        self._endpoint = endpoint_of(base_url, folder)

    def check(self, tokenizer: Any = None) -> VerdictDocument:
        options = CheckOptions(probes=(ProbeKind.PROTOCOL,))
        reference = OpenReference(None, tokenizer, (), None)
        return check_against(reference, self._endpoint, options, self.data, Silent())


class Served:
    """What answers behind the one address of these tests."""

    def __init__(self) -> None:
        self.watched: Watched | None = None

    async def __call__(self, received: Received, connection: Connection) -> None:
        assert self.watched is not None
        await self.watched.spoken(received, connection)


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[Served, str]]:
    handler = Served()
    with ScriptedServer(handler) as server:
        yield handler, server.base_url


@pytest.fixture
def fresh(served: tuple[Served, str], tmp_path: Path) -> Watched:
    handler, base_url = served
    handler.watched = Watched(base_url, tmp_path)
    return handler.watched


@pytest.fixture(scope="module")
def past(served: tuple[Served, str], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, VerdictDocument]:
    """A data directory after two checks of a lawful endpoint, and what the second one said."""
    handler, base_url = served
    folder = tmp_path_factory.mktemp("enrolled")
    handler.watched = watched = Watched(base_url, folder)
    first, again = watched.check(), watched.check()
    assert (first.enrolled, found(first)) == (True, set())
    return folder / "data", again


@pytest.fixture
def enrolled(past: tuple[Path, VerdictDocument], fresh: Watched) -> Watched:
    shutil.copytree(past[0], fresh.data.path)
    return fresh


def endpoint_of(base_url: str, folder: Path) -> EndpointConfig:
    file = folder / "providers.yaml"
    served = {"model": "lark", "name": "acme/lark-30b", "prices": PRICES}
    provider = {"slug": "x", "base_url": base_url, "allow_private": True, "models": [served]}
    file.write_text(yaml.safe_dump({"version": 1, "models": {"lark": {}}, "providers": [provider]}))
    (endpoint,) = load_config(file).endpoints("x")
    return endpoint


def found(document: VerdictDocument) -> set[str]:
    return {check.probe for check in document.checks if check.verdict in FOUND}


def effects(document: VerdictDocument) -> dict[str, Effect]:
    return {one.name: one.effect for one in document.parameters}


def test_of_a_lawful_endpoint_nothing_is_found_and_all_is_told(past: tuple[Path, VerdictDocument]) -> None:
    again = past[1]

    assert found(again) == set()
    verdicts = {check.probe: check.verdict for check in again.checks}
    assert verdicts["protocol.parameters"] is verdicts["protocol.stack"] is verdicts["protocol.tokens"] is Verdict.OK
    assert verdicts["fidelity.tokens"] is Verdict.INAPPLICABLE
    acting = {name for name, effect in effects(again).items() if effect is Effect.ACTS}
    assert acting >= {name for name in LIGHT if not name.startswith("logit_bias")} | {"logprobs.chat"}
    assert effects(again)["logprobs.text"] is Effect.REFUSED
    assert again.protocol is not None
    assert again.protocol.caching == "fresh"
    assert [one.share for one in again.protocol.variants] == [1.0]


def ignore_n(spoken: Spoken) -> None:
    spoken.model.ignores = frozenset({"n"})


def other_ids(spoken: Spoken) -> None:
    spoken.id_prefix = "cmpl_"


def other_call_ids(spoken: Spoken) -> None:
    spoken.call_prefix = "chatcmpl-tool-"


def other_fingerprint(spoken: Spoken) -> None:
    spoken.fingerprint = "fp_two"


def one_more_token(spoken: Spoken) -> None:
    spoken.extra_tokens = 1


FAULTS = {
    "a parameter ignored since": (ignore_n, "protocol.parameters", Verdict.DRIFT, "n acts → ignored"),
    "another form of ids": (other_ids, "protocol.stack", Verdict.DRIFT, "id chatcmpl-hex24 → cmpl_hex24"),
    "another form of call ids": (
        other_call_ids,
        "protocol.stack",
        Verdict.DRIFT,
        "call_id call_hex24 → chatcmpl-tool-hex24",
    ),
    "another fingerprint": (
        other_fingerprint,
        "protocol.stack",
        Verdict.SUSPECT,
        "system_fingerprint fp_one → fp_two",
    ),
    "a token more": (one_more_token, "protocol.tokens", Verdict.DRIFT, "16 of 16 prompts"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_each_change_turns_its_own_finding(name: str, enrolled: Watched) -> None:
    change, turned, verdict, words = FAULTS[name]
    change(enrolled.spoken)

    document = enrolled.check()

    assert found(document) == {turned}
    check = next(check for check in document.checks if check.probe == turned)
    assert (check.verdict, document.verdict) == (verdict, verdict)
    assert words in check.reason


def test_each_change_of_the_stack_is_an_event_once_and_counted_in_every_run(enrolled: Watched) -> None:
    other_call_ids(enrolled.spoken)
    first = enrolled.check()
    other_ids(enrolled.spoken)
    other_fingerprint(enrolled.spoken)
    enrolled.check()

    with Store.open(enrolled.data.database, at=clock.now()) as store:
        events = Browse(store.sessions).changes(ChangeFilter(), Window(9)).items
        endpoint_id = store.run(first.run_ids[0]).endpoint_id
        span = Span(first.started_at, clock.now())
        points = Series(store.sessions).series(endpoint_id, "protocol.stack_changes", span, Step.RAW).points
    told = [(one.kind, one.text) for one in events if one.kind is not ChangeKind.BASELINE]
    assert told == [
        (ChangeKind.STACK, "serving stack: id chatcmpl-hex24 → cmpl_hex24"),
        (ChangeKind.FINGERPRINT, "served fingerprint: fp_one before, fp_two now"),
        (ChangeKind.STACK, "serving stack: call_id call_hex24 → chatcmpl-tool-hex24"),
    ]
    assert [point.value for point in points] == [1.0, 3.0]


def counted(request: Mapping[str, Any]) -> int:
    return len(REFERENCE.render(request["messages"], request.get("tools")).ids)


def test_what_is_counted_otherwise_than_the_reference_does_is_explained(fresh: Watched) -> None:
    fresh.spoken = Spoken(count=counted, extra_tokens=12, extra_completion=5_000)

    document = fresh.check(REFERENCE)

    assert found(document) == {"fidelity.tokens"}
    (check,) = (check for check in document.checks if check.probe == "fidelity.tokens")
    assert (check.verdict, check.value) == (Verdict.SUSPECT, 12.0)
    hidden, beyond = check.reason.split("; ")
    assert hidden == "hidden system prompt (+12 tokens)"
    assert beyond.startswith("32 answers report ")
    assert document.protocol is not None
    bill = document.protocol.bill
    # 16 steps of the ladder, 8 replays and 8 streams.
    assert bill is not None
    assert (bill.requests, bill.prompts_known, bill.completions_known) == (32, 32, 32)
    assert bill.overcharged_microusd > 32 * (12 + 2 * 4_000)


def test_a_parameter_refused_since_is_found_and_its_refusals_are_no_bad_samples(enrolled: Watched) -> None:
    enrolled.spoken = Spoken(model=Parametric(refuses=frozenset({"n"})))

    document = enrolled.check()

    assert found(document) == {"protocol.parameters"}
    (row,) = (one for one in document.parameters if one.name == "n")
    assert (row.before, row.effect) == (Effect.ACTS, Effect.REFUSED)
    with Store.open(enrolled.data.database, at=clock.now()) as store:
        run = store.run(document.run_ids[0])
    assert (run.n_ok, run.n_bad, run.n_err) == (run.planned, 0, 0)


def test_a_resumed_check_has_its_refusals_as_they_were() -> None:
    plan = protocol_plan(bytes(32), bytes(16), whole=False)
    with ScriptedServer(Spoken(model=Parametric(refuses=frozenset({"n"})))) as server:
        samples = send(target(server.base_url), plan).samples
    half = samples[: len(samples) // 2]
    stored = [StoredSample(one.item.key, one.item.rep, one.outcome, unpack(pack(one))) for one in half]

    again = rebuilt(protocol_plan(bytes(32), bytes(16), whole=False), stored)

    assert [one.item for one in again] == [one.item for one in half]
    assert [(one.outcome, one.first_attempt_ok) for one in again] == [
        (one.outcome, one.first_attempt_ok) for one in half
    ]
    refused = [one for one in again if one.outcome is Outcome.REFUSED]
    assert refused
    assert all(one.item.verbatim for one in refused)
    left = remaining(plan, stored)
    assert [(one.item.key, one.item.rep) for one in samples[len(half) :]] == [(i.key, i.rep) for i in left.items]


def test_a_resumed_run_shows_the_habits_and_the_variants_that_it_showed() -> None:
    plan = protocol_plan(bytes(32), bytes(16), whole=False)
    with ScriptedServer(Spoken()) as server:
        samples = send(target(server.base_url), plan).samples
    told = [_with_headers(one, {"x-gateway-region": "eu-2", "cf-ray": "8a7f-FRA"}) for one in samples]
    stored = [StoredSample(one.item.key, one.item.rep, one.outcome, unpack(pack(one))) for one in told]

    again = protocol_answers(rebuilt(plan, stored), None)

    assert again == protocol_answers(told, None)
    assert "x-gateway-region" in str(again.facts.features)


def _with_headers(sample: Sample, more: Mapping[str, str]) -> Sample:
    return replace(sample, attempts=tuple(replace(one, headers={**one.headers, **more}) for one in sample.attempts))


def test_a_smaller_plan_has_fewer_experiments_and_each_of_them_whole() -> None:
    whole, light = (protocol_plan(bytes(32), bytes(16), whole=every) for every in (True, False))
    part = protocol_plan(bytes(32), bytes(16), whole=False, part=0.3)

    assert len(part.items) < len(light.items) < len(whole.items)
    assert {item.key for item in part.items} < {item.key for item in light.items}
    assert replace(light, items=()) == replace(protocol_plan(bytes(32), b"x" * 16, whole=False), items=())
    assert len({(item.key, item.rep) for item in whole.items}) == len(whole.items)


def test_of_what_an_endpoint_repeats_nothing_is_kept() -> None:
    prompt = "How does one moor at Polruan in a gale?"
    body = {
        "id": "Tell me of Ms Ferrer of Fowey",
        "object": f"chat.completion: {prompt}",
        prompt: 1,
        "model": "acme/lark-30b \ud800",
        "system_fingerprint": "a private prompt",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": "Rain."}, "finish_reason": "the end of it"}
        ],
    }
    attempt = Attempt(200, {"server": "made of canary-key-0815"}, json.dumps(body).encode(), clock.now(), 0.1)
    asked = Item("habit/0", 0, {"messages": [{"role": "user", "content": prompt}]})
    KNOWN_SECRETS.add("canary-key-0815")

    facts = protocol_answers([Sample(asked, Outcome.OK, None, (attempt,), asked.request)], None).facts

    assert decode_facts(encode_facts(facts)) == facts
    for said in ("Ferrer", "private", "canary", "end of", "Polruan"):
        assert said not in str(facts)


@pytest.mark.parametrize("claimed", [10**400, -1])
def test_a_count_that_nobody_can_mean_is_none(claimed: int) -> None:
    usage = Usage(prompt_tokens=claimed, completion_tokens=claimed)
    completion = Completion(Disposition.ACCEPT, (), 200, content="Rain.", usage=usage)
    items = (Item(f"accounting-{place}", 0, {"messages": [{"role": "user", "content": "Good."}]}) for place in range(4))

    answers = protocol_answers([Sample(item, Outcome.OK, completion, ()) for item in items], REFERENCE)

    assert (answers.facts.prompt_tokens, answers.charges) == ({}, ())
    assert answers.tokens.verdict is Verdict.INAPPLICABLE


@pytest.mark.parametrize(("echoes", "effect"), [(True, Effect.ACTS), (False, Effect.IGNORED)])
def test_log_probabilities_of_the_prompt_are_ignored_where_those_of_the_answer_come_alone(
    echoes: bool, effect: Effect
) -> None:
    with ScriptedServer(both(echo=echoes)) as server:
        samples = send(target(server.base_url), availability.plan(bytes(32), bytes(16))).samples
    answers = protocol_answers(samples, None)

    assert {name: one.effect for name, one in answers.facts.effects.items()} == {
        "logprobs.chat": Effect.ACTS,
        "logprobs.chat-many": Effect.ACTS,
        "logprobs.text": Effect.ACTS,
        "logprobs.prompt": effect,
    }

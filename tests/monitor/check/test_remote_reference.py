"""A check whose reference is another endpoint, over HTTP to both: what is asked of whom, and what is said of either."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from monitor import clock
from monitor.check.ask import Limits, Manner
from monitor.check.budget import Budget
from monitor.check.eval_suite import EvalSuite
from monitor.check.options import CheckOptions, Silent
from monitor.check.plans import Drawn, Extent, make_plans
from monitor.check.remote_reference import RemoteReference
from monitor.check.remote_side import RemoteSide
from monitor.check.run import run_check
from monitor.config import EndpointConfig, load_config
from monitor.datadir import DataDir
from monitor.drift.rule import Verdict
from monitor.errors import BudgetError, SecretError, UsageError
from monitor.render.markdown import markdown
from monitor.render.terminal import print_verdict
from monitor.store import Store
from monitor.verdict import Check, VerdictDocument
from probes.capabilities import Capabilities
from probes.evals.item import EvalItem, Grader, GraderKind
from probes.plan import Outcome, ProbeKind, Sample
from tests.endpoints.agent import Agent
from tests.endpoints.edits import arguments
from tests.endpoints.hostile import error
from tests.endpoints.knowing import Knowing
from tests.endpoints.scripted_model import NOISE, ScriptedModel
from tests.endpoints.server import Connection, Handler, Received, ScriptedServer
from tests.endpoints.tool_caller import Request, Said, ToolCaller
from tests.monitor.store.material import spent
from tests.probes.loops.agents import diligent

KEYS = {"X_KEY": "canary-of-x", "VENDOR_KEY": "canary-of-vendor"}
LOGPROBS = CheckOptions(probes=(ProbeKind.LOGPROBS, ProbeKind.ACCOUNTING), n=40)
CHEAP = {"input_usd_per_mtok": 1.0, "output_usd_per_mtok": 1.0}
DEAR = {"input_usd_per_mtok": 100.0, "output_usd_per_mtok": 100.0}


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)


@dataclass
class Pair:
    """An endpoint `x`, and a reference `vendor` that serves the same model."""

    folder: Path
    x: ScriptedServer
    vendor: ScriptedServer
    entries: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def data(self) -> DataDir:
        return DataDir(self.folder / "data")

    def endpoint(self, reference: str | None = "vendor", **providers: dict[str, Any]) -> EndpointConfig:
        served = {
            slug: {"model": "big", "name": f"{slug}-big", **self.entries.get(slug, {})} for slug in ("x", "vendor")
        }
        addresses = {"x": self.x.base_url, "vendor": self.vendor.base_url}
        document = {
            "version": 1,
            "models": {"big": {} if reference is None else {"reference": {"endpoint": f"{reference}/big"}}},
            "providers": [
                {
                    "slug": slug,
                    "base_url": addresses[slug],
                    "allow_private": True,
                    "api_key": f"${{env:{slug.upper()}_KEY}}",
                    **providers.get(slug, {}),
                    "models": [served[slug]],
                }
                for slug in ("x", "vendor")
            ],
        }
        file = self.folder / "providers.yaml"
        file.write_text(yaml.safe_dump(document))
        (endpoint,) = load_config(file).endpoints("x")
        return endpoint

    def check(self, options: CheckOptions = LOGPROBS) -> VerdictDocument:
        return run_check(self.endpoint(), options, self.data, Silent())


@contextmanager
def pair(folder: Path, x: Handler, vendor: Handler) -> Iterator[Pair]:
    with ScriptedServer(x) as endpoint, ScriptedServer(vendor) as reference:
        yield Pair(folder, endpoint, reference)


def model(**settings: Any) -> ScriptedModel:
    return ScriptedModel(noise=NOISE, **settings)


def other(**settings: Any) -> ScriptedModel:
    """The same model with noise of its own."""
    return model(answered=10_000, **settings)


def named(document: VerdictDocument, probe: str) -> Check:
    (found,) = [check for check in document.checks if check.probe == probe]
    return found


def prompts(server: ScriptedServer) -> Counter[str]:
    return Counter(json.dumps(request.json["messages"]) for request in server.received)


async def refuses(received: Received, connection: Connection) -> None:
    await connection.reply(401, error("Incorrect API key provided."))


async def never_answers(received: Received, connection: Connection) -> None:
    await connection.gone()


def test_both_are_asked_the_same_by_their_own_keys_and_names(tmp_path: Path) -> None:
    with pair(tmp_path, model(), other()) as servers:
        document = servers.check()

        assert prompts(servers.x) == prompts(servers.vendor)
        for server, slug in ((servers.x, "x"), (servers.vendor, "vendor")):
            assert {request.headers["authorization"] for request in server.received} == {f"Bearer canary-of-{slug}"}
            assert {request.json["model"] for request in server.received} == {f"{slug}-big"}
            assert len(server.received) == 40
        assert not any("seed" in request.json for request in servers.vendor.received)

    assert document.cost.requests == 40
    assert document.reference is not None
    assert (document.reference.endpoint, document.reference.reason) == ("vendor/big", "")
    assert document.reference.cost.requests == 40
    assert document.reference.cost.tokens_in == document.cost.tokens_in


def test_the_same_model_elsewhere_is_no_suspicion_and_no_drift(tmp_path: Path) -> None:
    with pair(tmp_path, model(), other()) as servers:
        first, second, third = (servers.check() for _ in range(3))

    assert (first.enrolled, second.enrolled) == (True, False)
    assert [one.fidelity.verdict for one in (first, second, third)] == [Verdict.OK] * 3
    assert [one.verdict for one in (second, third)] == [Verdict.OK] * 2
    assert third.baselines[0].runs == 2
    assert third.fidelity.value is not None
    assert third.fidelity.value < 0.01
    assert third.fidelity.reason == "compared with vendor/big, an endpoint: no cause is ranked"
    assert (third.fidelity.ranking, third.fidelity.nearest) == ((), None)


def test_another_model_is_suspect_from_the_first_check_on_and_no_drift(tmp_path: Path) -> None:
    with pair(tmp_path, model(change=0.5), other()) as servers:
        first, second = servers.check(), servers.check()

    for document in (first, second):
        assert (document.verdict, document.fidelity.verdict) == (Verdict.SUSPECT, Verdict.SUSPECT)
        assert document.fidelity.value is not None
        assert document.fidelity.value > 0.2
    assert named(second, "logprobs").verdict is Verdict.OK
    assert "how far a token's is from the reference's" in markdown(second)


def test_an_endpoint_that_changes_is_drift_and_the_reference_stands_beside_it(tmp_path: Path) -> None:
    with pair(tmp_path, model(), other()) as servers:
        servers.check()
        servers.x.handler = model(change=0.3)
        document = servers.check()

    found = named(document, "logprobs")
    assert (found.verdict, found.causes, found.reason) == (Verdict.DRIFT, (), "")
    assert document.fidelity.verdict is Verdict.SUSPECT
    assert all(one.reference.tokens for one in found.telling)
    assert not any("canary" in one.curl or servers.vendor.base_url in one.curl for one in found.telling)


@pytest.mark.parametrize("fault", ["down", "refuses"])
def test_a_reference_that_cannot_be_asked_is_no_fault_of_the_endpoint(tmp_path: Path, fault: str) -> None:
    with pair(tmp_path, model(), other()) as servers:
        servers.check()
        if fault == "down":
            servers.vendor.stop()
        servers.vendor.handler = refuses
        still = servers.check()
        servers.x.handler = model(change=0.3)
        gone = servers.check()

    why = {"down": "provider_unreachable", "refuses": "provider_auth"}[fault]
    assert (still.verdict, still.partial, named(still, "logprobs").verdict) == (Verdict.OK, False, Verdict.OK)
    assert (still.fidelity.verdict, still.fidelity.value) == (Verdict.INCONCLUSIVE, None)
    assert still.fidelity.reason == "vendor/big, the reference, gave no answer"
    assert still.reference is not None
    assert still.reference.reason == f"it could not be asked ({why})"
    assert named(gone, "logprobs").verdict is Verdict.DRIFT


def test_a_reference_that_moved_is_said_and_holds_what_hangs_on_it(tmp_path: Path) -> None:
    with pair(tmp_path, model(), other()) as servers:
        servers.check()
        servers.vendor.handler = other(change=0.5, extra_prompt_tokens=6)
        still = servers.check()
        servers.x.handler = model(change=0.3)
        gone = servers.check()

    assert still.reference is not None
    assert still.reference.reason.startswith("its log-probabilities moved 0.")
    assert still.reference.reason.endswith("and it counts +6 tokens a prompt")
    assert [named(still, probe).verdict for probe in ("logprobs", "accounting")] == [Verdict.OK, Verdict.OK]
    assert "the reference vendor/big moved: " in named(still, "logprobs").reason
    assert still.fidelity.verdict is Verdict.INCONCLUSIVE
    assert "the reference vendor/big moved: " in still.fidelity.reason
    # A run that was held against another reference than the baseline's does not join it.
    assert gone.baselines[0].runs == 1
    assert named(gone, "logprobs").verdict is Verdict.DRIFT


def test_a_reference_with_another_fingerprint_than_any_accepted_run_saw_moved(tmp_path: Path) -> None:
    with pair(tmp_path, model(), other(fingerprint="fp_a")) as servers:
        first = servers.check()
        servers.vendor.handler = other(fingerprint="fp_b")
        second = servers.check()
        servers.vendor.handler = other(fingerprint="fp_a")
        third = servers.check()

    told = [document.reference for document in (first, second, third)]
    assert [one.served_fingerprints for one in told if one] == [("fp_a",), ("fp_b",), ("fp_a",)]
    assert [one.reason for one in told if one] == ["", "it names system_fingerprint fp_b, and fp_a before", ""]
    assert [document.fidelity.verdict for document in (first, second, third)] == [Verdict.OK] * 3


def test_counts_are_held_against_the_reference_s(tmp_path: Path) -> None:
    with pair(tmp_path, model(extra_prompt_tokens=4), other()) as servers:
        first = servers.check()
        same = servers.check(replace(LOGPROBS, probes=(ProbeKind.ACCOUNTING,), n=16))

    for document in (first, same):
        found = named(document, "accounting")
        assert (found.verdict, found.value) == (Verdict.SUSPECT, 4.0)
        assert found.reason == "counts differ from those of vendor/big"


def test_what_was_held_against_another_reference_is_not_mixed_with_this_one(tmp_path: Path) -> None:
    """Counts of another reference, and distances to it, would look as if the endpoint had moved."""
    with pair(tmp_path, model(), other(change=0.5, extra_prompt_tokens=9)) as servers:
        servers.check()
        with ScriptedServer(other()) as another:
            servers.vendor = another
            second = servers.check()
            third = servers.check()
        alone = run_check(servers.endpoint(None), LOGPROBS, servers.data, Silent())

    for document in (second, third, alone):
        assert [named(document, probe).verdict for probe in ("logprobs", "accounting")] == [Verdict.OK, Verdict.OK]
    assert second.reference is not None
    assert second.reference.reason == ""
    assert (alone.reference, alone.fidelity.verdict) == (None, Verdict.INAPPLICABLE)


def test_a_cache_of_the_reference_s_is_no_small_noise(tmp_path: Path) -> None:
    """Of a repeat that is a replay nothing is learned, so that its noise is not known."""
    with pair(tmp_path, model(), other(caches=True)) as servers:
        document = servers.check()

    assert document.fidelity.verdict is Verdict.INCONCLUSIVE
    assert "its noise is not known" in document.fidelity.reason


def test_the_limits_of_a_check_hold_for_both_together(tmp_path: Path) -> None:
    with pair(tmp_path, model(), other()) as servers:
        servers.check(replace(LOGPROBS, budget=Budget(requests=25)))

        sent = [len(server.received) for server in (servers.x, servers.vendor)]
    assert sum(sent) <= 25
    assert sent == [12, 12]


def test_tries_of_the_reference_count_and_none_is_sent_beyond_its_part(tmp_path: Path) -> None:
    steady = model()

    async def every_other_fails(received: Received, connection: Connection) -> None:
        if len(servers.vendor.received) % 2:
            await connection.reply(503, error("overloaded"), headers={"Retry-After": "0"})
        else:
            await steady(received, connection)

    with pair(tmp_path, model(), every_other_fails) as servers:
        document = servers.check(replace(LOGPROBS, budget=Budget(requests=24)))

        assert len(servers.vendor.received) <= 12
    assert (document.partial, document.cost.requests) == (False, 12)
    assert document.reference is not None
    assert document.reference.reason == "its part of the budget is spent"


def test_a_check_that_not_both_can_afford_is_not_begun(tmp_path: Path) -> None:
    with pair(tmp_path, model(), other()) as servers:
        with pytest.raises(BudgetError) as caught:
            servers.check(replace(LOGPROBS, budget=Budget(requests=7)))

        assert "8 requests, more than --max-requests 7" in str(caught.value.message)
        assert servers.x.received == servers.vendor.received == []


def test_dollars_are_limited_by_the_prices_of_each(tmp_path: Path) -> None:
    spender = replace(LOGPROBS, budget=Budget(usd=0.1))
    with pair(tmp_path, model(), other()) as servers:
        servers.entries = {"x": {"prices": CHEAP}}
        with pytest.raises(UsageError) as caught:
            servers.check(spender)
        assert "names none for vendor/big, the reference" in str(caught.value.message)

        servers.entries["vendor"] = {"prices": DEAR}
        document = servers.check(spender)

    assert document.reference is not None
    assert document.cost.usd is not None
    assert document.reference.cost.usd is not None
    assert document.reference.cost.usd > 50 * document.cost.usd > 0
    assert document.cost.usd + document.reference.cost.usd <= 0.1


def test_what_the_reference_cost_counts_to_its_own_provider_s_day(tmp_path: Path) -> None:
    with pair(tmp_path, model(), other()) as servers:
        servers.entries = {"x": {"prices": CHEAP}, "vendor": {"prices": DEAR}}
        document = servers.check()

        with Store.open(servers.data.database, at=clock.now()) as store:
            days = {slug: spent(store, slug, clock.now().date()) for slug in ("x", "vendor")}
    assert document.reference is not None
    costs = {"x": document.cost.usd, "vendor": document.reference.cost.usd}
    assert days == {slug: (round((usd or 0.0) * 1e6), 0) for slug, usd in costs.items()}


def test_a_key_of_the_reference_that_is_not_there_is_said_before_anything_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VENDOR_KEY")
    with pair(tmp_path, model(), other()) as servers:
        with pytest.raises(SecretError) as caught:
            servers.check()

        assert "VENDOR_KEY" in str(caught.value.message)
        assert servers.x.received == []


def test_streams_and_experiments_are_the_endpoint_s_alone(tmp_path: Path) -> None:
    with pair(tmp_path, model(), other()) as servers:
        document = servers.check(replace(LOGPROBS, probes=(ProbeKind.LATENCY,)))

        assert (len(servers.x.received), servers.vendor.received) == (8, [])
    assert document.reference is not None
    assert document.reference.cost.requests == 0


def test_a_reference_that_is_not_done_in_its_time_is_asked_no_further(tmp_path: Path) -> None:
    options = replace(LOGPROBS, n=8)
    planned = make_plans(
        options, Drawn(bytes(32), bytes(16), clock.now()), has_reference=True, extent=Extent(options.n)
    )

    async def asked(side: RemoteSide) -> None:
        async with side:
            side.turn_to(ProbeKind.LOGPROBS)
            for item in planned.plans[0].items:
                side.hear(ProbeKind.LOGPROBS, Sample(item, Outcome.OK, None, ()))

    with pair(tmp_path, model(), never_answers) as servers:
        reference = servers.endpoint().reference
        assert reference is not None
        assert reference.endpoint is not None
        manner = Manner(Limits(None, Budget(), None, {}))
        remote = RemoteReference(reference.endpoint)
        side = RemoteSide(remote, planned, manner, Silent(), capabilities=Capabilities(), within_s=0.0)
        asyncio.run(asked(side))

    assert (side.why_not, side.samples, side.requests) == ("it was not done in time", [], 0)


def test_the_report_names_what_the_reference_was_asked_and_no_key(tmp_path: Path, capsys: Any) -> None:
    from rich.console import Console

    with pair(tmp_path, model(), other()) as servers:
        document = servers.check()
    print_verdict(Console(width=300), document, 0)

    written = capsys.readouterr().out + markdown(document) + document.to_json()
    assert "reference vendor/big: 40 requests, " in written
    assert "Beside it the reference vendor/big: 40 requests, " in markdown(document)
    assert not any(key in written for key in KEYS.values())


TOOLS = CheckOptions(probes=(ProbeKind.TOOL_CALLS,))


def invented(text: str) -> str:
    try:
        return json.dumps({**json.loads(text), "colour": "red"})
    except ValueError:  # cut, as asked for
        return text


def test_tool_calls_are_held_against_the_reference_s_to_the_same_requests(tmp_path: Path) -> None:
    data = DataDir(tmp_path / "data")
    right, wrong = (Agent(Knowing(data.seed(), clock.now())) for _ in range(2))
    wrong.wire = arguments(invented)
    with pair(tmp_path, wrong, right) as servers:
        document = servers.check(TOOLS)

        asked, theirs = prompts(servers.x), prompts(servers.vendor)
    assert theirs.keys() <= asked.keys()
    assert theirs.total() < asked.total()  # no replays
    assert named(document, "fidelity.arguments").verdict is Verdict.SUSPECT
    assert named(document, "fidelity.trigger").verdict is not Verdict.SUSPECT
    (schema,) = [rate for rate in document.rates if rate.name == "schema_ok"]
    assert (schema.value is not None, schema.reference) == (True, 1.0)


def test_where_the_reference_cannot_be_asked_tool_calls_are_judged_all_the_same(tmp_path: Path) -> None:
    data = DataDir(tmp_path / "data")
    with pair(tmp_path, Agent(Knowing(data.seed(), clock.now())), refuses) as servers:
        document = servers.check(TOOLS)

    found = named(document, "fidelity.arguments")
    assert (found.verdict, found.reason) == (
        Verdict.INCONCLUSIVE,
        "the reference vendor/big: it could not be asked (provider_auth)",
    )
    assert (document.enrolled, document.partial) == (True, False)


def nothing_to_say(request: Request) -> Said:
    return Said(content="I do not know.")


def test_the_reference_holds_loops_of_its_own_once_the_endpoint_held_them(tmp_path: Path) -> None:
    options = CheckOptions(probes=(ProbeKind.AGENT_LOOPS,), budget=Budget(requests=320))
    with pair(tmp_path, ToolCaller(nothing_to_say), ToolCaller(diligent)) as servers:
        document = servers.check(options)

    found = named(document, "fidelity.loop")
    assert found.verdict is Verdict.SUSPECT
    assert {(one.passed, one.reference) for one in document.loops if one.trials} == {(0, 1.0)}


def test_a_private_suite_is_asked_of_both(tmp_path: Path) -> None:
    items = tuple(
        EvalItem({"messages": [{"role": "user", "content": f"What is {n} + 1?"}]}, Grader(GraderKind.EXACT), f"{n + 1}")
        for n in range(12)
    )
    suite = EvalSuite("sums", 1, "0" * 64, items)

    def says(right: bool) -> ToolCaller:
        def answer(request: Request) -> Said:
            number = int(request["messages"][-1]["content"].split()[2])
            return Said(content=f"{number + right}")

        return ToolCaller(answer)

    with pair(tmp_path, says(False), says(True)) as servers:
        document = servers.check(CheckOptions(probes=(ProbeKind.EVALS,), evals=suite))

        assert prompts(servers.x) == prompts(servers.vendor)
    (accuracy,) = document.rates
    assert (accuracy.value, accuracy.reference) == (0.0, 1.0)
    assert named(document, "fidelity.evals").verdict is Verdict.SUSPECT

"""`monitor probe` against endpoints that cannot be used: what is said, the exit code, and what the database holds."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from monitor.store import RunStatus
from probes.plan import ProbeKind
from tests.endpoints import hostile
from tests.endpoints.lawful import Lawful
from tests.endpoints.server import Connection, Handler, Received, ScriptedServer
from tests.installation import KEY, Installation, Ran, assert_says_nothing_private

# The client's tries of one request: the first one and two more.
TRIES = 3


@dataclass(frozen=True)
class Case:
    """An endpoint, and what must be said of it: the code, parts of the message, a part of the remedy."""

    name: str
    handler: Handler
    code: str
    says: tuple[str, ...]
    remedy: str
    requests: int = 1


async def quotes_the_prompt(received: Received, connection: Connection) -> None:
    prompt = received.json["messages"][-1]["content"]
    await connection.reply(404, hostile.error(f"Unknown: {prompt} {KEY}"))


NO_CREDIT = hostile.error("You exceeded your current quota.", code="insufficient_quota")

CASES = (
    Case("401", hostile.unauthorized, "provider_auth", ("answers 401", "[redacted]"), "`api_key`"),
    Case("402", hostile.always(402, hostile.error("Pay first.")), "provider_quota", ("402", "Pay first."), "credit"),
    Case("no credit", hostile.always(429, NO_CREDIT), "provider_quota", ("429", "your current quota"), "credit"),
    Case("storm", hostile.rate_limited(), "provider_quota", ("429", "Rate limit reached"), "`limits.rpm`", TRIES),
    Case("storm of waits", hostile.rate_limited("0.5"), "provider_quota", ("wait 0.5 s",), "`limits.rpm`", TRIES),
    Case("to wait an hour", hostile.rate_limited("3600"), "provider_quota", ("wait 3600 s",), "`limits.rpm`"),
    Case("HTML", hostile.html(), "provider_protocol", ("text/html", "instead of JSON", "Sign in"), "base_url"),
    Case("404 page", hostile.html(404), "provider_protocol", ("answers 404", "text/html"), "base_url"),
    Case("404", hostile.always(404, hostile.error("no lark")), "provider_rejected", ("404", "no lark"), "`name`"),
    Case("quotes", quotes_the_prompt, "provider_rejected", ("404", "[prompt]", "[redacted]"), "`name`"),
    Case("16 MB", hostile.huge_body(), "provider_protocol", ("more than 8388608 bytes",), "base_url"),
)


def assert_fails(ran: Ran, code: str, *says: str, remedy: str) -> None:
    """One JSON document with the error in it, and exit code 5."""
    assert (ran.code, ran.err) == (5, "")
    assert ran.document["schema"] == "monitor.error/1"
    error = ran.document["error"]
    assert (error["code"], error["exit_code"]) == (code, 5)
    assert [part for part in says if part not in error["message"]] == []
    assert remedy in error["remedy"]


def assert_nothing_stands(installation: Installation, code: str) -> None:
    """Every run is closed as failed for this reason, with the one request that was tried; nothing was enrolled."""
    runs = {run.probe: run for run in installation.runs()}
    assert set(runs) == {ProbeKind.LOGPROBS, ProbeKind.LATENCY}
    assert {(run.status, run.error_code) for run in runs.values()} == {(RunStatus.FAILED, code)}
    assert [run for run in runs.values() if run.finished_at is None or run.n_ok] == []
    assert len(installation.exchanges(runs[ProbeKind.LOGPROBS].id)) == 1
    assert installation.baselines() == []
    assert_key_is_kept_nowhere(installation)


def assert_key_is_kept_nowhere(installation: Installation) -> None:
    assert not installation.holds(KEY)
    exchanges = [exchange for run in installation.runs() for exchange in installation.exchanges(run.id)]
    assert KEY not in repr(exchanges)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_an_endpoint_that_cannot_be_used_is_named_with_what_it_did(installation: Installation, case: Case) -> None:
    with ScriptedServer(case.handler) as server:
        installation.configure(server.base_url)
        ran = installation.probe("--json")

    assert_fails(ran, case.code, f"127.0.0.1:{server.port}", *case.says, remedy=case.remedy)
    assert len(server.received) == case.requests
    assert_says_nothing_private(ran, server.received)
    assert_nothing_stands(installation, case.code)


def test_without_json_the_error_and_its_remedy_are_on_stderr(installation: Installation) -> None:
    with ScriptedServer(hostile.unauthorized) as server:
        installation.configure(server.base_url)
        ran = installation.probe()

    assert (ran.code, ran.out) == (5, "")
    message, remedy = ran.err.splitlines()
    assert message.startswith(f"error[provider_auth]: 127.0.0.1:{server.port} answers 401: the key is not accepted")
    assert remedy.startswith("Check the provider's `api_key`")
    assert_says_nothing_private(ran, server.received)


def test_a_host_name_that_is_not_there(installation: Installation) -> None:
    installation.configure("https://lark.invalid/v1")

    ran = installation.probe("--json")

    assert_fails(ran, "provider_unreachable", "'lark.invalid' does not resolve", remedy="base_url")
    assert_nothing_stands(installation, "provider_unreachable")


def test_a_refused_connection(installation: Installation) -> None:
    url = hostile.closed_port_url()
    installation.configure(url)

    ran = installation.probe("--json")

    place = url.removeprefix("http://").removesuffix("/v1")
    assert_fails(ran, "provider_unreachable", f"{place} refused the connection", remedy="Start the server")
    assert_nothing_stands(installation, "provider_unreachable")


@pytest.mark.parametrize(
    ("handler", "limits", "says"),
    [
        (hostile.keep_alive_for_ever, {"idle_timeout": "200ms"}, "kept the connection open but sent no data for 0.2 s"),
        (hostile.pings_for_ever, {"timeout": "300ms"}, "did not finish within 0.3 s"),
        (hostile.says_nothing, {"timeout": "300ms"}, "did not finish within 0.3 s"),
    ],
    ids=["keep-alive", "pings", "silence"],
)
def test_an_answer_that_never_comes(
    installation: Installation, handler: Handler, limits: dict[str, str], says: str
) -> None:
    with ScriptedServer(handler) as server:
        installation.configure(server.base_url, provider=limits)
        ran = installation.probe("--json")

    assert_fails(ran, "provider_unreachable", f"127.0.0.1:{server.port}", says, remedy="`timeout`")
    assert len(server.received) == TRIES
    assert_says_nothing_private(ran, server.received)
    assert_nothing_stands(installation, "provider_unreachable")


def test_a_redirect_is_named_and_not_followed(installation: Installation) -> None:
    with ScriptedServer(Lawful()) as elsewhere, ScriptedServer(hostile.redirect(elsewhere.base_url)) as server:
        installation.configure(server.base_url)
        ran = installation.probe("--json")

    says = f"answers 307 and redirects to 127.0.0.1:{elsewhere.port}"
    assert_fails(ran, "provider_protocol", says, remedy="set base_url to the final address")
    assert (len(server.received), elsewhere.received) == (1, [])
    assert_nothing_stands(installation, "provider_protocol")


def test_a_429_storm_after_some_answers_ends_the_run_and_keeps_them(installation: Installation) -> None:
    with ScriptedServer(hostile.first(6, Lawful(), hostile.rate_limited("0"))) as server:
        installation.configure(server.base_url)
        ran = installation.probe("--json")

    assert_fails(ran, "provider_quota", "were answered 429", "the run stopped early", remedy="`limits.rpm`")
    assert len(server.received) < 6 + 10 * TRIES
    assert_says_nothing_private(ran, server.received)
    runs = {run.probe: run for run in installation.runs()}
    assert {(run.status, run.error_code) for run in runs.values()} == {(RunStatus.FAILED, "provider_quota")}
    assert (runs[ProbeKind.LOGPROBS].n_ok, runs[ProbeKind.LATENCY].n_ok) == (6, 0)
    assert installation.baselines() == []
    assert_key_is_kept_nowhere(installation)

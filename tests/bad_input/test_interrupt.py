"""`monitor probe` that is stopped on its way: by Ctrl-C, by a kill, by its own time or money."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
from collections.abc import Mapping
from typing import Any

import pytest

from monitor.store import RunStatus
from tests.endpoints.lawful import Lawful
from tests.endpoints.server import Connection, Received, ScriptedServer
from tests.installation import HANGS_AFTER_S, Installation, Ran, assert_says_nothing_private

# The default of the configuration: so many requests are on their way at once.
CONCURRENCY = 4
ANSWERED = 14


class Stalling:
    """Answers the first ANSWERED requests and no more. `stalled` is set once CONCURRENCY others wait: by then the
    client has every answer there is."""

    def __init__(self) -> None:
        self.stalled = threading.Event()
        self._lawful = Lawful()
        self._seen = 0

    async def __call__(self, received: Received, connection: Connection) -> None:
        self._seen += 1
        if self._seen <= ANSWERED:
            await self._lawful(received, connection)
            return
        if self._seen == ANSWERED + CONCURRENCY:
            self.stalled.set()
        await connection.gone()


class Dear(Lawful):
    """Counts many times the tokens that the prompts have."""

    def whole(self, request: Mapping[str, Any]) -> dict[str, Any]:
        usage = {"prompt_tokens": 5000, "completion_tokens": 1, "total_tokens": 5001}
        return {**super().whole(request), "usage": usage}


def stop(process: subprocess.Popen[str], endpoint: Stalling, with_signal: signal.Signals) -> Ran:
    try:
        while not endpoint.stalled.wait(0.2):
            assert process.poll() is None, process.communicate()
        process.send_signal(with_signal)
        out, err = process.communicate(timeout=HANGS_AFTER_S)
    finally:
        process.kill()
    return Ran(process.returncode, out, err)


def assert_kept(installation: Installation, status: RunStatus, error_code: str, samples: int = ANSWERED) -> None:
    """One closed run with the samples that came, and no baseline."""
    (run,) = installation.runs()
    assert (run.status, run.error_code) == (status, error_code)
    assert [(entry.status, entry.error_code) for entry in installation.entries()] == [(status, error_code)]
    assert (run.n_ok, run.n_bad, run.n_err, run.planned) == (samples, 0, 0, 40)
    assert len(installation.exchanges(run.id)) == samples
    assert installation.baselines() == []


def cost_microusd(installation: Installation) -> int:
    return sum(run.cost_microusd or 0 for run in installation.runs())


@pytest.mark.parametrize("words", [(), ("--json",)], ids=["text", "json"])
def test_ctrl_c_keeps_what_came_and_enrols_nothing(installation: Installation, words: tuple[str, ...]) -> None:
    endpoint = Stalling()
    with ScriptedServer(endpoint) as server:
        installation.configure(server.base_url)
        ran = stop(installation.start_probe("--probe", "logprobs", *words), endpoint, signal.SIGINT)

    assert ran.code == 130
    if words:
        error = json.loads(ran.out)["error"]
        assert (error["code"], error["message"], error["exit_code"], ran.err) == (
            "interrupted",
            "Interrupted.",
            130,
            "",
        )
    else:
        assert (ran.out, ran.err) == ("", "error[interrupted]: Interrupted.\n")
    assert_says_nothing_private(ran, server.received)
    assert_kept(installation, RunStatus.CANCELLED, "interrupted")
    (run,) = installation.runs()
    assert (run.tokens_in, run.tokens_out) != (0, 0)


def test_a_killed_run_is_closed_by_the_next_command(installation: Installation) -> None:
    endpoint = Stalling()
    with ScriptedServer(endpoint) as server:
        installation.configure(server.base_url)
        ran = stop(installation.start_probe("--probe", "logprobs"), endpoint, signal.SIGKILL)

    assert ran.code == -signal.SIGKILL
    # No request leaves while an answer waits to be stored.
    assert_kept(installation, RunStatus.FAILED, "abandoned")


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_check_that_was_stopped_goes_on_where_it_was(installation: Installation, how: signal.Signals) -> None:
    words = ("--probe", "logprobs", "--probe", "latency")
    prices = {"input_usd_per_mtok": 1.0, "output_usd_per_mtok": 1.0}
    endpoint = Stalling()
    with ScriptedServer(endpoint) as server:
        installation.configure(server.base_url, entry={"prices": prices})
        stop(installation.start_probe(*words), endpoint, how)
    # What was on its way may have cost as well.
    spent, cost = installation.spent_microusd(), cost_microusd(installation)
    with ScriptedServer(Lawful()) as server:
        installation.configure(server.base_url, entry={"prices": prices})
        other = installation.probe("--json", "--probe", "logprobs", "--resume")
        assert (other.code, other.document["error"]["code"], server.received) == (2, "usage", [])

        whole = installation.probe("--json", *words, "--resume")
        asked = list(server.received)

        # It has come to its end.
        assert installation.probe("--json", *words, "--resume").code == 2

    assert (whole.code, whole.document["enrolled"], whole.document["partial"]) == (0, True, False)
    assert whole.document["cost"]["requests"] == ANSWERED + len(asked) == 48
    assert {run.status for run in installation.runs()} == {RunStatus.SUCCEEDED}
    assert [(one.status, one.attempt) for one in installation.entries()] == [(RunStatus.SUCCEEDED, 2)]
    assert sum(len(installation.exchanges(run.id)) for run in installation.runs()) == 48
    assert installation.spent_microusd() - spent == cost_microusd(installation) - cost > 0


def test_a_run_out_of_time_is_partial_and_enrols_nothing(installation: Installation) -> None:
    with ScriptedServer(Stalling()) as server:
        installation.configure(server.base_url)
        ran = installation.probe("--json", "--probe", "logprobs", "--timeout", "4s")

    assert (ran.code, ran.err) == (4, "")
    document = ran.document
    assert (document["verdict"], document["partial"], document["enrolled"]) == ("inconclusive", True, False)
    (check,) = document["checks"]
    assert (check["verdict"], check["reason"]) == ("inconclusive", "no baseline, and a partial run makes none")
    assert 0 < check["n"] <= ANSWERED
    assert_says_nothing_private(ran, server.received)
    assert_kept(installation, RunStatus.PARTIAL, "timeout", samples=check["n"])


def test_a_run_without_any_answer_in_time_says_so(installation: Installation) -> None:
    async def silent(_: Received, connection: Connection) -> None:
        await connection.gone()

    with ScriptedServer(silent) as server:
        installation.configure(server.base_url)
        ran = installation.probe("--json", "--timeout", "500ms")

    assert ran.code == 4
    document = ran.document
    assert (document["verdict"], document["partial"], document["enrolled"]) == ("inconclusive", True, False)
    assert {(check["verdict"], check["reason"]) for check in document["checks"]} == {
        ("inconclusive", "no request was answered"),
        ("inapplicable", "no stream was answered"),
    }
    assert {(run.status, run.error_code, run.n_ok) for run in installation.runs()} == {
        (RunStatus.PARTIAL, "timeout", 0)
    }
    assert installation.baselines() == []


def test_money_spent_faster_than_planned_ends_the_run(installation: Installation) -> None:
    prices = {"input_usd_per_mtok": 1.0, "output_usd_per_mtok": 1.0}
    with ScriptedServer(Dear()) as server:
        installation.configure(server.base_url, entry={"prices": prices})
        ran = installation.probe("--json", "--probe", "logprobs", "--max-cost", "0.05")

    assert (ran.code, ran.err) == (4, "")
    document = ran.document
    assert (document["verdict"], document["partial"], document["enrolled"]) == ("inconclusive", True, False)
    # The tenth answer reaches the limit; those on their way then are the most that it can be overrun by.
    assert 10 <= document["checks"][0]["n"] < 10 + CONCURRENCY
    assert 0.05 <= document["cost"]["usd"] < 0.05 + CONCURRENCY * 0.005001
    (run,) = installation.runs()
    assert (run.status, run.error_code) == (RunStatus.PARTIAL, "budget")
    assert installation.baselines() == []

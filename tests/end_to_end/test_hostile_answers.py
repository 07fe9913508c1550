"""What an endpoint claims or leaves off costs a run neither its record nor a secret."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from monitor.store import RunStatus
from tests.endpoints import hostile
from tests.endpoints.scripted_model import ScriptedModel
from tests.endpoints.server import Connection, Received, ScriptedServer
from tests.installation import KEY, QUICK, Installation

PRICES = {"prices": {"input_usd_per_mtok": 1_000_000.0, "output_usd_per_mtok": 0.0}}


class Revoking(ScriptedModel):
    """Takes the key for five answers."""

    async def __call__(self, received: Received, connection: Connection) -> None:
        if self.answered < 5:
            await super().__call__(received, connection)
        else:
            await connection.reply(401, hostile.error("The key was revoked."))


class Repeating(ScriptedModel):
    """Gives the key for its model's name."""

    def _answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        return {**super()._answer(request), "model": KEY}


def test_an_impossible_token_count_costs_no_run_its_result(installation: Installation) -> None:
    with ScriptedServer(ScriptedModel(extra_prompt_tokens=10**30)) as server:
        installation.configure(server.base_url)
        ran = installation.probe("--json", *QUICK)

    cost = ran.document["cost"]
    assert (ran.code, ran.document["enrolled"]) == (0, True)
    assert (cost["tokens_in"], cost["without_usage"]) == (None, cost["requests"])


def test_a_run_that_the_provider_ended_keeps_what_it_cost(installation: Installation) -> None:
    with ScriptedServer(Revoking()) as server:
        installation.configure(server.base_url, entry=PRICES, provider={"limits": {"max_concurrency": 1}})
        ran = installation.probe("--json", *QUICK)

    assert ran.code == 5
    (run,) = installation.runs()
    assert (run.status, run.n_ok) == (RunStatus.FAILED, 5)
    assert run.tokens_in > 0
    assert run.cost_microusd == run.tokens_in * 1_000_000


def test_a_key_given_as_the_models_name_is_not_shown(installation: Installation) -> None:
    with ScriptedServer(Repeating()) as server:
        installation.configure(server.base_url)
        ran = installation.probe("--json", *QUICK)

    assert ran.document["served_model"] == "[redacted]"
    assert KEY not in ran.out

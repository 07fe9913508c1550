"""R19: a provider that misbehaves is unavailable, never changed, and spends no more than its budget and a few calls."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from monitor.drift.rule import Verdict
from monitor.store import RunStatus
from monitor.store.tables import Alert, ServiceEvent, Spending
from monitor.worker.context import Context
from monitor.worker.execute import execute
from tests.endpoints import hostile
from tests.endpoints.scripted_model import NOISE, ScriptedModel, words_in
from tests.endpoints.server import Connection, Handler, Received, ScriptedServer
from tests.reliability.service import LOGPROBS, Service, work_off

pytestmark = pytest.mark.reliability

PRICES = {"input_usd_per_mtok": 1000.0, "output_usd_per_mtok": 1000.0}
WIDTH = 4


async def storm(_: Received, connection: Connection) -> None:
    await connection.reply(429, hostile.error("Slow down."), headers={"Retry-After": "0"})


async def drip(_: Received, connection: Connection) -> None:
    await connection.begin(content_type="application/json")
    while connection.open:
        await connection.chunk(" ")
        await asyncio.sleep(0.05)


async def truncated(_: Received, connection: Connection) -> None:
    await connection.begin()
    await connection.event({"id": "x", "object": "chat.completion.chunk", "choices": []})
    connection.close()


async def web_page(_: Received, connection: Connection) -> None:
    await connection.reply(200, "<html><body>Welcome</body></html>", content_type="text/html")


async def error_with_200(_: Received, connection: Connection) -> None:
    await connection.reply(200, hostile.error("The engine is overloaded."))


async def eight_megabytes(_: Received, connection: Connection) -> None:
    await connection.reply(200, b'{"choices": [' + b" " * 9_000_000 + b"]}")


FAULTS: dict[str, Handler] = {
    "429 storm": storm,
    "slow drip": drip,
    "truncated stream": truncated,
    "web page": web_page,
    "error body with status 200": error_with_200,
    "more than 8 MB": eight_megabytes,
}


class Turning:
    """An honest endpoint until `fault` is set."""

    def __init__(self) -> None:
        self.model = ScriptedModel(noise=NOISE)
        self.fault: Handler | None = None

    async def __call__(self, received: Received, connection: Connection) -> None:
        await (self.fault or self.model)(received, connection)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    made = Service(tmp_path, f"sqlite:///{tmp_path / 'monitor.db'}", "redis://127.0.0.1:1/0", lease=30.0)
    yield made
    made.close()


def make_check(service: Service, context: Context, endpoint_id: str, key: str) -> str:
    (check_id,) = service.enqueue(endpoint_id, key, options=LOGPROBS, ring=False)
    execute(context, check_id)
    return check_id


@pytest.mark.parametrize("fault", FAULTS)
def test_a_provider_that_misbehaves_is_unavailable_and_not_changed(service: Service, fault: str) -> None:
    turning = Turning()
    with ScriptedServer(turning) as endpoint, service.context() as context:
        short = {"timeout": "1s", "idle_timeout": "500ms", "limits": {"max_concurrency": WIDTH}}
        rule = {"id": "drift", "error_after": 1}
        endpoint_id = service.configure(endpoint.base_url, provider=short, rules=[rule])
        make_check(service, context, endpoint_id, "enrolment")
        turning.fault = FAULTS[fault]

        entry = service.entry(make_check(service, context, endpoint_id, fault))

        assert (entry.status, entry.verdict) == (RunStatus.FAILED, None)
        assert str(entry.error_code).startswith("provider_")
        with service.store.sessions.read() as session:
            alerts = {(alert.rule, alert.state.value) for alert in session.scalars(select(Alert))}
        assert alerts == {("availability", "error")}


class WithoutUsage(ScriptedModel):
    """Bills, and says nothing of it."""

    def _answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        return {**super()._answer(request), "usage": None}


def billed(endpoint: ScriptedServer, extra: int) -> float:
    """What all requests that came cost, in US dollars, also those that nobody waited for."""
    tokens = [words_in(one.json["messages"]) + extra + int(one.json["max_tokens"]) for one in endpoint.received]
    return sum(tokens) * PRICES["input_usd_per_mtok"] / 1e6


def settled(service: Service) -> float:
    with service.store.sessions.read() as session:
        spending = session.scalars(select(Spending)).one()
    assert spending.reserved_microusd == 0
    return spending.settled_microusd / 1e6


@pytest.mark.parametrize(
    ("model", "extra"),
    [(ScriptedModel(extra_prompt_tokens=500), 500), (WithoutUsage(), 0)],
    ids=["an endpoint that counts far more tokens than were sent", "an endpoint that counts none"],
)
def test_a_budget_is_passed_by_no_more_than_one_call_in_each_slot(
    service: Service, model: ScriptedModel, extra: int
) -> None:
    call = (extra + 100) * PRICES["input_usd_per_mtok"] / 1e6
    budget = 10 * call
    with ScriptedServer(model) as endpoint, service.context() as context:
        endpoint_id = service.configure(
            endpoint.base_url,
            provider={"daily_budget_usd": budget, "limits": {"max_concurrency": WIDTH}},
            entry={"prices": PRICES},
        )
        ids = [make_check(service, context, endpoint_id, f"spending-{turn}") for turn in range(3)]

        assert billed(endpoint, extra) <= min(budget, settled(service)) + WIDTH * call
        assert Verdict.DRIFT not in {service.entry(check_id).verdict for check_id in ids}
        assert service.entry(ids[-1]).error_code == "budget_exhausted"
        calls = len(endpoint.received)
        make_check(service, context, endpoint_id, "after")
        assert len(endpoint.received) == calls
        with service.store.sessions.read() as session:
            events = session.scalars(select(ServiceEvent.type)).all()
        assert events.count("budget.exhausted") == 1
        work_off(context)


def test_what_was_on_its_way_when_the_time_was_over_is_booked(service: Service) -> None:
    """The first answer comes, and then none."""
    turning = Turning()

    async def answers_once(received: Received, connection: Connection) -> None:
        turning.fault = hostile.says_nothing
        await turning.model(received, connection)

    turning.fault = answers_once
    with ScriptedServer(turning) as endpoint, service.context() as context:
        limits = {"limits": {"max_concurrency": WIDTH}}
        endpoint_id = service.configure(endpoint.base_url, provider=limits, entry={"prices": PRICES})
        (check_id,) = service.enqueue(endpoint_id, "short", options={**LOGPROBS, "timeout": 0.5}, ring=False)

        execute(context, check_id)

        assert service.entry(check_id).status is RunStatus.PARTIAL
        assert len(endpoint.received) == 1 + WIDTH
        assert settled(service) >= billed(endpoint, 0)

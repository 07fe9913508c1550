"""R24: more checks than a worker has threads or processes, of endpoints that hang: it ticks and tells all the same."""

from __future__ import annotations

import asyncio
import base64
from dataclasses import dataclass, field

import pytest
import yaml

from monitor import clock
from monitor.config import load_config
from monitor.config.objects import objects_of
from monitor.store import Beats
from monitor.store.config import ConfigObjects
from monitor.worker.tick import TICKING, Ticking
from tests.endpoints.scripted_model import ScriptedModel
from tests.endpoints.server import Connection, Received, ScriptedServer
from tests.monitor.deliveries.receiver import Receiver
from tests.reliability.service import LOGPROBS, Service, wait_until

pytestmark = pytest.mark.reliability

CONCURRENCY = 3
ENDPOINTS = 5
HOOK_SECRET = "whsec_" + base64.b64encode(bytes(32)).decode()  # pragma: allowlist secret


@dataclass
class Hanging:
    """Answers nothing until it is let go."""

    hangs: bool = True
    model: ScriptedModel = field(default_factory=ScriptedModel)

    async def __call__(self, received: Received, connection: Connection) -> None:
        while self.hangs:
            await asyncio.sleep(0.02)
        await self.model(received, connection)


def configure(service: Service, base_url: str, channel: str) -> list[str]:
    models = [{"model": "lark", "name": f"acme/lark-{number}"} for number in range(ENDPOINTS)]
    document = {
        "version": 1,
        "models": {"lark": {}},
        "providers": [{"slug": "x", "base_url": base_url, "allow_private": True, "models": models}],
        "schedules": [{"id": "yearly", "cron": "0 0 1 1 *"}],
        "channels": [
            {
                "id": "ops",
                "url": channel,
                "allow_private": True,
                "secret": "${env:R24_HOOK_SECRET}",
                "events": ["run.finished"],
            }
        ],
    }
    file = service.folder / "providers.yaml"
    file.write_text(yaml.safe_dump(document))
    ConfigObjects(service.store.sessions).apply(objects_of(load_config(file)), actor="test", at=clock.now())
    with service.context() as context:
        return list(context.configured().endpoints)


def ticked_since(service: Service, moment: float) -> bool:
    ticking = Ticking.from_json(Beats(service.store.sessions).setting(TICKING))
    return ticking is not None and ticking.at.timestamp() > moment


@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_slow_checks_leave_room_for_ticks_and_notices(
    sqlite_service: Service, pool: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("R24_HOOK_SECRET", HOOK_SECRET)
    service, hanging = sqlite_service, Hanging()
    with ScriptedServer(hanging) as endpoint, Receiver() as receiver:
        endpoints = configure(service, endpoint.base_url, receiver.url)
        ids = [service.enqueue(one, one, options={**LOGPROBS, "n": 4})[0] for one in endpoints]
        service.start_worker(pool, concurrency=CONCURRENCY)
        wait_until(lambda: endpoint.in_flight > 0, "a check that hangs")
        *rest, last = ids

        service.queue.cancel(last, clock.now())

        moment = clock.now().timestamp()
        wait_until(lambda: ticked_since(service, moment), "a tick")
        wait_until(lambda: [one.type for one in receiver.taken] == ["run.finished"], "the notice")
        assert endpoint.most_in_flight == 1
        hanging.hangs = False
        service.wait_for(*rest)
        for check_id in rest:
            service.assert_whole(check_id, attempts=1, n=4)

"""R18: neither a provider's key nor a private prompt gets out, whatever the provider does and wherever one looks.

The provider repeats both in everything it answers. Prompts are stored with their answers, in compressed bodies, and
nowhere else; keys are stored nowhere.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from monitor import clock
from monitor.config import load_config
from monitor.config.objects import objects_of
from monitor.logs import configure_logging
from monitor.store import CheckRequest, Trigger
from monitor.store.config import ConfigObjects
from monitor.worker.context import Context
from monitor.worker.execute import execute
from monitor.worker.notify import deliver, fan_out
from tests.endpoints.lawful import Lawful
from tests.endpoints.server import Connection, Received, ScriptedServer
from tests.monitor.api.served import api_over
from tests.reliability.places import answers, tables
from tests.reliability.service import Service, wait_until

pytestmark = pytest.mark.reliability

KEY = "canary-key-41f7c2d9e08b"  # pragma: allowlist secret
SECRET = "whsec_Y2FuYXJ5LWNhbmFyeS1jYW5hcnktY2FuYXJ5LTMyYg=="  # pragma: allowlist secret
MOODS = ("ok", "401", "429", "500", "slow", "not-json")
# Where the exchanges are.
BODIES = "sample_body"


class Repeating:
    """Answers by its path's first part, and repeats key and prompt in every answer. Webhooks come here too."""

    def __init__(self) -> None:
        self.prompts: set[str] = set()
        self.notices: list[str] = []
        self._lawful = Lawful()

    async def __call__(self, received: Received, connection: Connection) -> None:
        mood = received.path.split("/")[1]
        if mood == "hook":
            self.notices.append(received.body.decode() + str(dict(received.headers)))
            await connection.reply(200, b"ok")
            return
        prompt = received.json["messages"][-1]["content"] if received.body else ""
        if prompt:
            self.prompts.add(prompt)
        said = f"you sent {received.headers.get('authorization')} and {prompt}"
        if mood == "ok":
            whole = self._lawful.whole(received.json)
            named = {"id": said[:200], "system_fingerprint": f"fp {KEY}", "model": f"lark {KEY}"}
            await connection.reply(200, {**whole, **named})
        elif mood == "slow":
            await asyncio.sleep(30)
        elif mood == "not-json":
            await connection.reply(200, f"<p>{said}</p>", content_type="text/html", headers={"X-Request-Id": KEY})
        else:
            error = {"error": {"message": said, "code": KEY, "type": KEY}}
            await connection.reply(int(mood), error, headers={"Retry-After": "0", "X-Request-Id": KEY})


def configuration(base: str) -> dict[str, Any]:
    def provider(mood: str) -> dict[str, Any]:
        return {
            "slug": f"p-{mood}",
            "base_url": f"{base}/{mood}/v1",
            "allow_private": True,
            "api_key": "${env:CANARY_KEY}",
            "headers": {"X-Extra-Token": "${env:CANARY_KEY}"},
            "timeout": "500ms" if mood == "slow" else "5s",
            "models": [{"model": "lark", "name": "acme/lark-30b"}],
        }

    return {
        "version": 1,
        "models": {"lark": {}},
        "providers": [provider(mood) for mood in MOODS],
        "schedules": [{"id": "yearly", "cron": "0 0 1 1 *"}],
        "channels": [{"id": "ops", "url": f"{base}/hook", "secret": "${env:CANARY_SECRET}", "allow_private": True}],
        "routes": [{"id": "all", "to": ["ops"], "group_wait": "100ms"}],
    }


@pytest.fixture
def repeating() -> Iterator[tuple[Repeating, str]]:
    handler = Repeating()
    with ScriptedServer(handler) as server:
        yield handler, server.base_url.removesuffix("/v1")


@pytest.fixture
def verbose_log() -> Iterator[None]:
    """The service's own logging, to stderr, of everything."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    configure_logging(logging.DEBUG)
    yield
    logging.captureWarnings(capture=False)
    root.handlers[:], root.level = handlers, level


def test_r18_no_key_and_no_prompt_gets_out(
    service: Service,
    repeating: tuple[Repeating, str],
    verbose_log: None,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    handler, base = repeating
    monkeypatch.setenv("CANARY_KEY", KEY)
    monkeypatch.setenv("CANARY_SECRET", SECRET)
    configure(service, base)

    with service.context() as context:
        run_every_mood(context)
        notify(context, handler)
    places = {
        "log": "".join(capfd.readouterr()),
        "webhook": "\n".join(handler.notices),
        **{f"table {name}": text for name, text in tables(service)},
        **{f"api {path}": text for path, text in answers(service)},
    }

    assert len(handler.prompts) >= 8
    assert handler.notices
    assert [where for where, text in places.items() if KEY in text or SECRET in text] == []
    # A prompt's beginning is enough: nothing cuts one before it.
    told = [
        (where, prompt)
        for where, text in places.items()
        for prompt in handler.prompts
        if where != f"table {BODIES}" and (prompt[:40] in text or json.dumps(prompt)[1:40] in text)
    ]
    assert told == []
    assert stored_exchanges_without_the_key(service) > 0


def configure(service: Service, base: str) -> None:
    file = service.folder / "providers.yaml"
    file.write_text(yaml.safe_dump(configuration(base)))
    ConfigObjects(service.store.sessions).apply(objects_of(load_config(file)), actor="test", at=clock.now())


def run_every_mood(context: Context) -> None:
    """Each endpoint twice: two failed checks in a row make an alert."""
    options = {"probes": ["logprobs", "accounting"], "n": 24, "timeout": 3.0}
    for turn in range(2):
        for endpoint_id in context.configured().endpoints:
            now = clock.now()
            request = CheckRequest(f"{endpoint_id}:{turn}", endpoint_id, Trigger.API, now, options)
            (entry,) = context.queue.enqueue([request], now)
            execute(context, entry.id)


def notify(context: Context, handler: Repeating) -> None:
    def told() -> bool:
        fan_out(context, clock.now())
        for delivery_id in context.deliveries.due(clock.now()):
            deliver(context, delivery_id, clock.now())
        return bool(handler.notices)

    wait_until(told, "a notice of the failing endpoints")


def stored_exchanges_without_the_key(service: Service) -> int:
    """How many exchanges are kept; the prompt is in them, the key is not."""
    api = api_over(service.store)
    runs = api.as_("read").get("/api/v1/runs?limit=500").json()["items"]
    exchanges = [exchange for run in runs for exchange in service.store.exchanges(run["id"])]
    for exchange in exchanges:
        assert KEY not in str(exchange.request)
        assert all(KEY.encode() not in answer.body and KEY not in str(answer) for answer in exchange.answers)
    return len(exchanges)

"""R18 of every probe: an endpoint repeats key, prompts and private items in every place of its answers, fails in every
way, and nothing of it is seen where it does not belong: not in the log of everything, not in what a command prints, not
in notices, the API, exports or bundles, and in no column of the database.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from monitor.check.options import OFFERED
from monitor.cli import main
from monitor.store import RunRecord
from probes.plan import ProbeKind
from tests.endpoints.agent import Agent
from tests.endpoints.answers import Answer, Call, Json
from tests.endpoints.edits import chained, each, spoken
from tests.endpoints.server import Connection, Received, ScriptedServer
from tests.endpoints.wire import Wire
from tests.monitor.deliveries.material import SECRET
from tests.monitor.evidence.recorded import files_of
from tests.reliability.places import answers, meant, tables
from tests.reliability.service import Service, work_off

pytestmark = pytest.mark.reliability

KEY = "canary-key-7c90d15e22ab"  # pragma: allowlist secret
ITEM = "canary-item-3be5: how many gulls sit on the pier of Zennorel?"
ITEMS = 12
# Where whoever runs the endpoint is shown what was asked of it, and where exchanges are kept.
BUNDLED, BODIES = "bundle", "sample_body"
FAILURES = ("429", "500", "not-json")
# Of so many requests one fails.
EACH = 17
# Each takes a timeout: one among the tool calls, one in the protocol, one of the private items.
SLOW = (24, 110, 306)
LOGGERS = ("monitor", "probes", "reference_engine", "celery", "asyncio")


@dataclass
class Repeating:
    """Lawful until it is told to repeat; then some requests fail, each time in another way, and some are never
    answered. `left` is after how many requests the key is refused. Notices come here too."""

    repeats: bool = False
    left: int | None = None
    repeated: int = 0
    prompts: set[str] = field(default_factory=set)
    notices: list[str] = field(default_factory=list)
    agent: Agent = field(default_factory=lambda: Agent(_answer))

    async def __call__(self, received: Received, connection: Connection) -> None:
        if received.path.startswith("/hook"):
            self.notices.append(received.body.decode() + str(dict(received.headers)))
            await connection.reply(200, b"ok")
            return
        request = received.json if received.body else {}
        texts = [one["content"] for one in request.get("messages", ())] + [request.get("prompt")]
        asked = [text for text in texts if isinstance(text, str)]
        self.prompts.update(text for text in asked if ITEM not in text)
        said = f"{received.headers.get('authorization')} {' '.join(asked)}"
        if self.left is not None:
            self.left -= 1
        await self._answer(request, said, received, connection)

    def _failure(self) -> str | None:
        self.repeated += 1
        if self.repeated in SLOW:
            return "slow"
        return None if self.repeated % EACH else FAILURES[self.repeated // EACH % len(FAILURES)]

    async def _answer(self, request: Json, said: str, received: Received, connection: Connection) -> None:
        failure = self._failure() if self.repeats else None
        if self.left is not None and self.left < 0:
            await _refuse(401, said, connection)
        elif failure == "slow":
            await connection.begin(content_type="application/json", headers=_headers(said))
            await connection.chunk(json.dumps({"id": said})[:-1])
            await connection.gone()
        elif failure == "not-json":
            await connection.reply(200, f"<p>{said}</p>", content_type="text/html", headers=_headers(said))
        elif failure is not None:
            await _refuse(int(failure), said, connection)
        elif "messages" not in request and not received.path.endswith("/models"):
            await _refuse(404, said if self.repeats else "There is no such path.", connection)
        else:
            self.agent.wire = _repeating(said) if self.repeats else Wire()
            await self.agent(received, connection)


def _answer(request: Mapping[str, Any], _: object) -> Answer:
    tools = request.get("tools")
    return Answer(calls=(Call(tools[0]["function"]["name"]),)) if tools else Answer("12 boats lie there.")


async def _refuse(status: int, said: str, connection: Connection) -> None:
    error = {"message": said, "code": said[:90], "type": said, "param": said}
    await connection.reply(status, {"error": error, said: said}, headers={"Retry-After": "0", **_headers(said)})


def _headers(said: str) -> dict[str, str]:
    plain = said.encode("ascii", "ignore").decode().replace("\n", " ").replace("\r", " ")
    return {"X-Request-Id": plain[:200], "Server": plain[:200], "Via": plain[-200:], "X-Cache": plain}


def _repeating(said: str) -> Wire:
    """In every place of an answer that is a text, and as names of fields."""

    def envelope(value: Json) -> None:
        value.update(id=said, object=said, model=said, system_fingerprint=said, **{said: said})
        for one in value["choices"]:
            one[said] = said
            if one["finish_reason"] is not None:
                one["finish_reason"] = said
        if value.get("usage"):
            value["usage"][said] = 1

    def message(value: Json) -> None:
        if value.get("content"):
            value["content"] += said
        value.update({"reasoning_content": said, said: said})
        for call in value.get("tool_calls", ()):
            call["id"] = said
            call["function"].update(name=said, arguments=json.dumps({said: said}))

    return replace(chained(each(envelope), spoken(message)), headers=_headers(said))


@pytest.fixture
def repeating() -> Iterator[tuple[Repeating, str]]:
    handler = Repeating()
    with ScriptedServer(handler) as server:
        yield handler, server.base_url


@pytest.fixture
def verbose() -> Iterator[None]:
    """Everything is logged, wherever the root logger's handler writes to."""
    root, levels = logging.getLogger(), {name: logging.getLogger(name).level for name in LOGGERS}
    handlers, level = root.handlers[:], root.level
    for name in LOGGERS:
        logging.getLogger(name).setLevel(logging.DEBUG)
    yield
    for name, before in levels.items():
        logging.getLogger(name).setLevel(before)
    logging.captureWarnings(capture=False)
    root.handlers[:], root.level = handlers, level


@pytest.fixture
def command(service: Service, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """`monitor` in this process, over the service's database."""
    for name, value in {
        **service.environment,
        "CANARY_KEY": KEY,
        "CANARY_SECRET": SECRET,
        "MONITOR_DEBUG": "1",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("MONITOR_CONFIG", str(service.folder / "providers.yaml"))
    monkeypatch.chdir(service.folder)
    return lambda *words: main(words)


@pytest.mark.parametrize("database_url", ["sqlite", pytest.param("postgresql", marks=pytest.mark.soak)], indirect=True)
def test_r18_of_what_an_endpoint_repeats_nothing_gets_out_by_any_probe(
    service: Service,
    repeating: tuple[Repeating, str],
    verbose: None,
    command: Callable[..., int],
    capfd: pytest.CaptureFixture[str],
) -> None:
    handler, base_url = repeating
    endpoint_id = configured(service, base_url)
    suite = written(service.folder / "gulls.jsonl")

    command("suites", "import", str(suite))
    asked_by_all(service, endpoint_id, command, "lawful", ProbeKind.LOGPROBS, ProbeKind.TOOL_CALLS)
    handler.repeats = True
    asked_by_all(service, endpoint_id, command, "repeating")
    bundles = dict(packed(service, command))
    handler.left = 9
    asked_by_all(service, endpoint_id, command, "refusing")
    command("history", "--provider", "x", "--json")
    places = {
        **bundles,
        **{path.name: path.read_text() for path in (*service.folder.glob("*.xml"), *service.folder.glob("*.md"))},
        **{f"table {name}": text for name, text in tables(service)},
        **{f"api {path}": text for path, text in answers(service)},
        "webhook": "\n".join(handler.notices),
        "printed": "".join(capfd.readouterr()),
    }

    assert {run.probe for run in runs(service)} >= {*OFFERED, ProbeKind.EVALS} - {ProbeKind.ACCOUNTING}
    assert any("DRIFT" in notice.upper() for notice in handler.notices)
    seen = {place: meant(text) for place, text in places.items()}
    assert [place for place, text in seen.items() if KEY in text or SECRET in text] == []
    assert [place for place, text in seen.items() if "canary-item" in text or "pier of Zennorel" in text] == []
    # A prompt's beginning is enough: nothing cuts one before it.
    begun = {prompt[:40] for prompt in handler.prompts if len(prompt) >= 24}
    assert len(begun) > 100
    private = [place for place in seen if place != f"table {BODIES}" and not place.startswith(BUNDLED)]
    assert [place for place in private if any(start in seen[place] for start in begun)] == []


def configured(service: Service, base_url: str) -> str:
    hook = f"{base_url.removesuffix('/v1')}/hook"
    return service.configure(
        base_url,
        provider={
            "api_key": "${env:CANARY_KEY}",
            "headers": {"X-Extra-Token": "${env:CANARY_KEY}"},
            "timeout": "1s",
            "limits": {"max_concurrency": 1},
        },
        channels=[{"id": "ops", "url": hook, "secret": "${env:CANARY_SECRET}", "allow_private": True}],
        routes=[{"id": "all", "to": ["ops"], "group_wait": "100ms"}],
    )


def written(file: Path) -> Path:
    lines = [
        {
            "request": {"messages": [{"role": "user", "content": f"{ITEM} {number}"}], "max_tokens": 9},
            "grader": {"kind": "normalised"},
            "expected": f"{number}, says {ITEM}",
            "category": f"of {ITEM}",
        }
        for number in range(ITEMS)
    ]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file


def asked_by_all(service: Service, endpoint_id: str, command: Callable[..., int], key: str, *probes: ProbeKind) -> None:
    """A check of the service's by these probes or all, one by hand, and a private suite."""
    options = {"probes": [one.value for one in probes or OFFERED], "n": 4, "max_requests": 400}
    service.enqueue(endpoint_id, key, options=options, ring=False)
    with service.context() as context:
        work_off(context)
    reports = ("--junit", f"{key}.xml", "--md", f"{key}.md")
    command("probe", "--provider", "x", "--probe", "accounting", "--n", "4", "--no-save")
    command("suites", "run", "gulls", "--provider", "x", "--json", *reports)


def runs(service: Service) -> list[RunRecord]:
    return [part.run for check in service.store.history(provider="x") for part in check.runs]


def packed(service: Service, command: Callable[..., int]) -> Iterator[tuple[str, str]]:
    """What the commands write of the newest run of each probe for others to read."""
    newest = {run.probe: run for run in reversed(runs(service))}
    for run in newest.values():
        assert command("evidence", "export", run.id, "--out", f"{run.id}.zip") == 0
        assert command("evidence", "k2vv", run.id, "--out", run.id) == 0
        kind = BUNDLED if run.probe is not ProbeKind.EVALS else "evals"
        for path, content in files_of(service.folder / f"{run.id}.zip").items():
            yield f"{kind} {run.id} {path}", content.decode("utf-8", "replace")
        for file in (service.folder / run.id).iterdir():
            yield f"{kind} {run.id} {file.name}", file.read_text()

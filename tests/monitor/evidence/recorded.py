"""Runs that were really sent, and what is stored of them: the material of evidence."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from monitor import clock
from monitor.check.identity import identity_of
from monitor.config import load_config
from monitor.store import RunResult, RunStart, RunStatus, Store, Trigger, new_id
from probes.plan import Item, Plan, ProbeKind
from tests.endpoints.server import Connection, Handler, Received, ScriptedServer
from tests.monitor.store.material import evidence
from tests.probes.sending import send, target

KEY = "canary-key-9d27c05b7e/41"  # pragma: allowlist secret
TOKEN = "canary-token-70aa41"

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "moor",
            "parameters": {
                "type": "object",
                "properties": {"berth": {"type": "integer"}},
                "required": ["berth"],
                "additionalProperties": False,
            },
        },
    }
]


@dataclass
class Recorded:
    """A folder with a configuration of provider `x`, and the database of `data_dir`."""

    folder: Path
    data: Path
    reference: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=lambda: {"X-Extra-Token": "${env:LARK_TOKEN}", "X-Team": "blue"})

    def configure(self, base_url: str) -> None:
        provider = {
            "slug": "x",
            "base_url": base_url,
            "allow_private": True,
            "api_key": "${env:LARK_KEY}",
            "headers": dict(self.headers),
            "models": [{"model": "lark", "name": "acme/lark-30b"}],
        }
        model = {} if self.reference is None else {"reference": dict(self.reference)}
        document = {"version": 1, "models": {"lark": model}, "providers": [provider]}
        (self.folder / "providers.yaml").write_text(yaml.safe_dump(document))

    def run(
        self,
        handler: Handler,
        items: Sequence[Item],
        *,
        probe: ProbeKind = ProbeKind.TOOL_CALLS,
        status: RunStatus = RunStatus.SUCCEEDED,
        **settings: Any,
    ) -> str:
        """Send the items over HTTP, store what came, and end the run; its id."""
        plan = Plan(probe, tuple(items), "5" * 64, "1")
        with ScriptedServer(handler) as server:
            self.configure(server.base_url)
            headers = {"X-Extra-Token": TOKEN, "X-Team": "blue"}
            asked = target(server.base_url, api_key=KEY, headers=headers, **settings)
            samples = send(asked, plan).samples
        with self.store() as store:
            (endpoint,) = load_config(self.folder / "providers.yaml").endpoints("x")
            record = store.ensure_endpoint(identity_of(endpoint), at=clock.now())
            start = RunStart(
                endpoint_id=record.id,
                check_id=new_id("chk", clock.now()),
                probe=plan.probe,
                suite_sha256=plan.suite_sha256,
                suite_version=plan.suite_version,
                trigger=Trigger.CLI,
                config_digest=endpoint.digest,
                code_version="0.1.0",
                planned=len(plan.items),
            )
            run_id = store.begin_run(start, at=clock.now())
            store.add_samples(run_id, samples, at=clock.now())
            if status.finished:
                store.finish_run(run_id, RunResult(status, evidence=[evidence()]), at=clock.now())
            return run_id

    def store(self) -> Store:
        self.data.mkdir(exist_ok=True)
        return Store.open(self.data / "monitor.db", at=clock.now())


def asking(key: str, text: str = "Moor the boat at berth 4.", *, rep: int = 0, **request: Any) -> Item:
    """A request that says its key in `user`, so that a server may answer by it."""
    body = {"messages": [{"role": "user", "content": text}], "tools": TOOLS, "max_tokens": 16, "user": key, **request}
    return Item(key, rep, body)


def calling(name: str, arguments: str) -> dict[str, Any]:
    call = {"id": "call_1", "type": "function", "function": {"name": name, "arguments": arguments}}
    return said({"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls")


def said(message: Mapping[str, Any], finish: str = "stop") -> dict[str, Any]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1760000000,
        "model": "acme/lark-30b",
        "choices": [{"index": 0, "message": dict(message), "finish_reason": finish}],
        "usage": {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25},
    }


GOOD = calling("moor", '{"berth": 4}')


def by_user(answers: Mapping[str, Mapping[str, Any]]) -> Handler:
    """What each key is answered; a right call for the others."""

    async def handler(received: Received, connection: Connection) -> None:
        await connection.reply(200, answers.get(received.json["user"], GOOD))

    return handler


def files_of(bundle: Path | bytes) -> dict[str, bytes]:
    source = io.BytesIO(bundle) if isinstance(bundle, bytes) else bundle
    with zipfile.ZipFile(source) as archive:
        return {name: archive.read(name) for name in archive.namelist()}

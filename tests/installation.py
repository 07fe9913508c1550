"""One user's configuration and data in a folder, and the real command `monitor` run over them in its own process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from sqlalchemy import select

from monitor import clock
from monitor.store import BaselineRecord, CheckEntry, Exchange, Queue, RunRecord, Store
from monitor.store.tables import Spending
from tests.endpoints.server import Received
from tests.forked import run_forked

KEY = "canary-key-5b1e0f6d"
KEY_VARIABLE = "LARK_KEY"
SERVED_NAME = "acme/lark-30b"
# What is judged; latency takes eight streams more.
QUICK = ("--probe", "logprobs", "--probe", "accounting")
# A command that hangs is to fail its test with a message, well before pytest gives up on the whole run.
HANGS_AFTER_S = 240


@dataclass(frozen=True)
class Ran:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one JSON document on stdout."""
        return json.loads(self.out)


class Installation:
    """`probe("--json")` runs `monitor probe --provider x --json`; what it stored is read through the store."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.config = folder / "providers.yaml"
        self.data = folder / "data"

    @property
    def database(self) -> Path:
        return self.data / "monitor.db"

    def configure(
        self,
        base_url: str,
        *,
        provider: Mapping[str, Any] | None = None,
        entry: Mapping[str, Any] | None = None,
        reference: Mapping[str, Any] | None = None,
    ) -> None:
        """Write a configuration of one provider `x` with one model `lark`."""
        served = {"model": "lark", "name": SERVED_NAME, **(entry or {})}
        asked = {
            "slug": "x",
            "base_url": base_url,
            "allow_private": True,
            "api_key": f"${{env:{KEY_VARIABLE}}}",
            **(provider or {}),
            "models": [served],
        }
        model = {} if reference is None else {"reference": dict(reference)}
        self.write({"version": 1, "models": {"lark": model}, "providers": [asked]})

    def write(self, document: Mapping[str, Any]) -> None:
        self.config.write_text(yaml.safe_dump(document, sort_keys=False))

    def environment(self, **variables: str | None) -> dict[str, str]:
        """The environment of a command; a variable that is None is unset."""
        chosen = {
            "MONITOR_CONFIG": str(self.config),
            "MONITOR_DATA_DIR": str(self.data),
            KEY_VARIABLE: KEY,
            **variables,
        }
        inherited = {name: value for name, value in os.environ.items() if name not in chosen}
        return {**inherited, **{name: value for name, value in chosen.items() if value is not None}}

    def run(
        self,
        *words: str,
        before: Callable[[], None] | None = None,
        hangs_after_s: float = HANGS_AFTER_S,
        **variables: str | None,
    ) -> Ran:
        """`before` runs in the new process, before the command does: the place for resource limits."""
        environment = self.environment(**variables)
        if before is None:
            return Ran(*run_forked(words, self.folder, environment, hangs_after_s=hangs_after_s))
        done = subprocess.run(
            [sys.executable, "-m", "monitor", *words],
            cwd=self.folder,
            env=environment,
            preexec_fn=before,
            capture_output=True,
            text=True,
            timeout=hangs_after_s,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def probe(self, *words: str, before: Callable[[], None] | None = None, **variables: str | None) -> Ran:
        return self.run("probe", "--provider", "x", *words, before=before, **variables)

    def start_probe(self, *words: str) -> subprocess.Popen[str]:
        """The command as a shell in the foreground starts it: Ctrl-C reaches it even where the tests ignore it."""
        return subprocess.Popen(
            [sys.executable, "-m", "monitor", "probe", "--provider", "x", *words],
            cwd=self.folder,
            env=self.environment(),
            preexec_fn=_heed_interrupts,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def store(self) -> Store:
        return Store.open(self.database, at=clock.now())

    def runs(self) -> list[RunRecord]:
        """Every run of the provider, newest check first."""
        with self.store() as store:
            return [part.run for check in store.history(provider="x") for part in check.runs]

    def entries(self) -> list[CheckEntry]:
        """Every check of the provider as the queue knows it, newest first."""
        with self.store() as store:
            queue = Queue(store.sessions)
            return [queue.entry(check.check_id) for check in store.history(provider="x")]

    def baselines(self) -> list[BaselineRecord]:
        with self.store() as store:
            return [baseline for one in store.endpoints(provider="x") for baseline in store.baselines(one.id)]

    def exchanges(self, run_id: str) -> list[Exchange]:
        with self.store() as store:
            return store.exchanges(run_id)

    def spent_microusd(self) -> int:
        """What is counted to the provider's days."""
        with self.store() as store, store.sessions.read() as session:
            return sum(session.scalars(select(Spending.settled_microusd)))

    def holds(self, text: str) -> bool:
        """Whether any file of the data directory has this text in it, legible to whoever opens the file."""
        return any(text.encode() in path.read_bytes() for path in self.data.rglob("*") if path.is_file())


def prompts_in(received: Iterable[Received]) -> set[str]:
    """Every text that the probes sent as part of a prompt."""
    bodies = [request.json for request in received if request.body]
    return {str(message["content"]) for body in bodies for message in body.get("messages", ())}


def assert_says_nothing_private(ran: Ran, received: Iterable[Received] = ()) -> None:
    """Neither the key nor a prompt, and no traceback, in what a command printed."""
    printed = ran.out + ran.err
    assert KEY not in printed
    assert "Traceback" not in printed
    assert [prompt for prompt in prompts_in(received) if prompt in printed] == []


def _heed_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)

"""`monitor doctor` and `monitor status`: what is there, what is missing, and no key."""

from __future__ import annotations

from pathlib import Path

import pytest

from monitor.datadir import DataDir
from monitor.service.skew import skew
from monitor.store import Store
from tests.endpoints.server import Connection, Received, ScriptedServer
from tests.monitor.cli.commands import CANARY, Monitor, Ran
from tests.monitor.store.material import AT

CONFIG = """
version: 1
models: {{ smol: {{}} }}
providers:
  - slug: x
    base_url: {base_url}
    allow_private: true
    api_key: ${{env:X_KEY}}
    models: [ {{ model: smol, name: smol }} ]
"""


def standing(ran: Ran) -> dict[str, str]:
    return {finding["name"]: finding["standing"] for finding in ran.document["findings"]}


def test_before_anything_is_there_it_warns_and_makes_nothing(monitor: Monitor, data_dir: Path) -> None:
    ran = monitor("doctor", "--json")
    assert ran.code == 0
    names = ["data", "seed", "database", "broker", "config"]
    assert standing(ran) == dict.fromkeys(names, "warning")
    assert not data_dir.exists()


def test_a_seed_that_others_can_read_fails(monitor: Monitor, data_dir: Path) -> None:
    DataDir(data_dir).seed()
    (data_dir / "seed").chmod(0o644)

    ran = monitor("doctor", "--json")

    assert ran.code == 6
    assert standing(ran)["seed"] == "failed"


def test_what_nobody_may_look_at_is_a_finding(monitor: Monitor, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MONITOR_DATA_DIR", str(folder / ("a" * 300)))
    monkeypatch.setenv("MONITOR_CONFIG", str(folder / ("b" * 300)))

    ran = monitor("doctor", "--json")

    assert ran.code == 6
    assert standing(ran) == dict.fromkeys(["data", "seed", "database", "broker", "config"], "failed")


def test_a_broker_is_asked(monitor: Monitor, data_dir: Path, valkey_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MONITOR_BROKER_URL", valkey_url)
    assert standing(monitor("doctor", "--json"))["broker"] == "ok"

    monkeypatch.setenv("MONITOR_BROKER_URL", "redis+socket:///nobody/listens/here")
    ran = monitor("doctor", "--json")
    assert (ran.code, standing(ran)["broker"]) == (6, "failed")


def test_a_key_is_missing_or_there_and_never_shown(
    monitor: Monitor, data_dir: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "providers.yaml").write_text(CONFIG.format(base_url="http://127.0.0.1:9/v1"))
    ran = monitor("doctor", "--json")
    assert (ran.code, standing(ran)["key"]) == (2, "failed")

    monkeypatch.setenv("X_KEY", CANARY)
    ran = monitor("doctor")
    assert ran.code == 0
    assert "all 1 references can be resolved" in ran.out
    assert CANARY not in ran.out + ran.err


async def an_old_clock(received: Received, connection: Connection) -> None:
    await connection.reply(404, b"", headers={"Date": "Sun, 29 Nov 2020 12:00:00 GMT"})


def test_a_clock_that_differs_from_a_providers_is_told_and_no_key_is_sent(
    monitor: Monitor, data_dir: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("X_KEY", CANARY)
    with ScriptedServer(an_old_clock) as server:
        (folder / "providers.yaml").write_text(CONFIG.format(base_url=server.base_url))
        ran = monitor("doctor", "--json")

    assert standing(ran)["clock x"] == "warning"
    (asked,) = server.received
    assert (asked.method, asked.body) == ("HEAD", b"")
    assert CANARY not in str(asked.headers)


def test_a_date_header_tells_the_skew() -> None:
    assert skew("Sun, 29 Nov 2026 12:01:30 GMT", AT) == 90
    assert skew("Sun, 29 Nov 2026 11:59:00 GMT", AT) == -60
    assert skew("yesterday", AT) is None
    assert skew(None, AT) is None


def test_status_before_anything_is_there(monitor: Monitor, data_dir: Path) -> None:
    ran = monitor("status")
    assert (ran.code, ran.out) == (0, "database  none yet\n")
    assert "No `monitor up` runs on" in ran.err
    assert not data_dir.exists()


def test_status_of_a_database_without_a_service(monitor: Monitor, data_dir: Path) -> None:
    data_dir.mkdir()
    with Store.open(data_dir / "monitor.db", at=AT):
        pass

    document = monitor("status", "--json").document

    assert document["web"] is None
    assert (document["database"]["kind"], document["workers"]) == ("sqlite", [])

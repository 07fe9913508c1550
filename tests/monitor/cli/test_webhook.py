"""`monitor webhook`: what a user sees of channels and deliveries."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from monitor import clock
from monitor.deliveries.attempt import Tried
from monitor.deliveries.retry import next_step
from monitor.deliveries.signature import check_secret, mismatch, signed_headers
from monitor.store import Store
from monitor.store.config import ConfigObjects
from monitor.store.vocabulary import ConfigKind
from tests.endpoints import hostile
from tests.endpoints.server import ScriptedServer
from tests.monitor.cli.commands import Monitor
from tests.monitor.deliveries.courier import Courier, courier
from tests.monitor.deliveries.material import AT, MINUTE, OLD_SECRET, SECRET, channel

BODY = b'{"type":"webhook.test","timestamp":"2026-11-29T10:15:04.000Z","data":{"schema":1}}'


@pytest.fixture
def config(folder: Path, secret_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One channel, whose address is in HOOK; it leads to where no webhook may be sent."""
    monkeypatch.setenv("HOOK", "https://127.0.0.1/in")
    entry = "{ id: ops, url: '${env:HOOK}', secret: '${file:webhook-secret}' }"
    (folder / "providers.yaml").write_text(f"version: 1\nchannels:\n  - {entry}\n")


@pytest.fixture
def service(data_dir: Path) -> Iterator[Courier]:
    """A channel with two deliveries, one of which was taken."""
    data_dir.mkdir()
    with courier(str(data_dir / "monitor.db"), channel("ops")) as opened:
        for number in (1, 2):
            opened.fire(number, provider=f"p{number}")
        opened.dispatch.fan_out(AT)
        opened.now += MINUTE
        first, _ = sorted(opened.dispatch.flush_due(opened.now))
        claimed = opened.deliveries.claim(first, "w1", opened.now, per_minute=10)
        assert claimed is not None
        tried = Tried(http_status=204, milliseconds=3.0)
        opened.deliveries.finish_try(claimed, tried, next_step(first, 1, 204, None, opened.now), opened.now)
        yield opened


@pytest.fixture
def secret_file(folder: Path) -> Path:
    path = folder / "webhook-secret"
    path.write_text(SECRET + "\n")
    return path


def message(*secrets: str) -> bytes:
    headers = signed_headers("msg_1", BODY, secrets, clock.now())
    return "".join(f"{name}: {value}\r\n" for name, value in headers.items()).encode() + b"\r\n" + BODY


def test_a_test_message_reaches_the_channel(
    monitor: Monitor, folder: Path, config: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = folder / "providers.yaml"
    file.write_text(file.read_text().replace(" }", ", allow_private: true }"))
    with ScriptedServer(hostile.always(204, "")) as server:
        monkeypatch.setenv("HOOK", server.base_url)
        ran = monitor("webhook", "test", "ops")

    assert ran.code == 0
    assert ran.out.startswith("ops: taken, answered 204 (")
    (received,) = server.received
    assert received.json["type"] == "webhook.test"
    assert mismatch(received.headers, received.body, [SECRET], clock.now()) is None


def test_a_channel_that_does_not_take_the_test_message_exits_5(monitor: Monitor, config: None) -> None:
    ran = monitor("webhook", "test", "ops")

    assert ran.code == 5
    assert ran.out.startswith("ops: NOT taken, 127.0.0.1 may not be asked: 127.0.0.1 is a loopback address.")
    assert "set `allow_private: true` beside it." in ran.out


def test_a_channel_that_is_not_configured_is_named(monitor: Monitor, config: None) -> None:
    ran = monitor("webhook", "test", "op")

    assert ran.code == 2
    assert "No channel 'op' is configured in providers.yaml; did you mean 'ops'?" in ran.err


def test_where_a_configuration_was_applied_the_channels_of_the_database_count(
    monitor: Monitor, data_dir: Path, config: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAGER_SECRET", SECRET)
    body = {"url": "https://127.0.0.1/in", "secret": "${env:PAGER_SECRET}"}
    data_dir.mkdir()
    with Store.open(data_dir / "monitor.db", at=AT) as store:
        ConfigObjects(store.sessions).create(
            ConfigKind.CHANNEL, "pager", {**body, "allow_private": True}, actor="test", at=AT
        )

    known, unknown = monitor("webhook", "test", "pager"), monitor("webhook", "test", "ops")

    assert (known.code, unknown.code) == (5, 2)
    assert "The channel is taken from the database." in known.err
    assert "No channel 'ops' is configured in the database" in unknown.err
    assert "`monitor config apply` brings the file's channels into the database." in unknown.err
    assert monitor("webhook", "deliveries", "--channel", "pager").err == "No deliveries.\n"


def test_deliveries_of_a_channel_that_nobody_knows_are_not_just_none(monitor: Monitor, config: None) -> None:
    ran = monitor("webhook", "deliveries", "--channel", "op")

    assert (ran.code, "did you mean 'ops'?" in ran.err) == (2, True)


def test_deliveries_are_listed_the_latest_first(monitor: Monitor, service: Courier) -> None:
    ran = monitor("webhook", "deliveries")
    waiting = monitor("webhook", "deliveries", "--status", "pending")

    header, *lines = ran.out.splitlines()
    assert header.split() == ["id", "channel", "type", "made", "(UTC)", "status", "tries", "next", "try", "why"]
    assert sorted(line.split()[5] for line in lines) == ["delivered", "pending"]
    assert len(waiting.out.splitlines()) == 2


def test_deliveries_as_json_come_with_every_try(monitor: Monitor, service: Courier) -> None:
    document = monitor("webhook", "deliveries", "--channel", "ops", "--json").document

    (done,) = [item for item in document["items"] if item["status"] == "delivered"]
    assert [attempt["http_status"] for attempt in done["tries"]] == [204]
    assert document["channels"][0]["channel"] == "ops"


def test_without_deliveries_there_is_a_message(monitor: Monitor, data_dir: Path) -> None:
    assert "No deliveries." in monitor("webhook", "deliveries").err
    assert not data_dir.exists()


def test_deliveries_are_sent_again_by_id_or_by_time(monitor: Monitor, service: Courier) -> None:
    (done,) = [entry for entry in service.entries() if entry.status.finished]

    by_id = monitor("webhook", "redeliver", done.id)
    by_time = monitor("webhook", "redeliver", "--channel", "ops", "--since", "2026-11-29", "--until", "2026-11-30")

    assert by_id.out == "1 to be sent again by the next worker.\n"
    assert by_time.out == "2 to be sent again by the next worker.\n"
    assert len(service.open()) == 2


@pytest.mark.parametrize("arguments", [[], ["msg_1", "--since", "1h"], ["msg_1", "--channel", "ops"]])
def test_what_is_to_be_sent_again_has_to_be_said_in_one_way(monitor: Monitor, arguments: list[str]) -> None:
    assert monitor("webhook", "redeliver", *arguments).code == 2


def test_an_unknown_delivery_is_named(monitor: Monitor, service: Courier) -> None:
    assert "There is no delivery msg_x." in monitor("webhook", "redeliver", "msg_x").err


def test_a_message_in_a_file_is_verified(monitor: Monitor, folder: Path, secret_file: Path) -> None:
    (folder / "good").write_bytes(message(OLD_SECRET, SECRET))
    (folder / "bad").write_bytes(message(SECRET).replace(b"test", b"text"))

    good = monitor("webhook", "verify", "--secret-file", str(secret_file), "good")
    bad = monitor("webhook", "verify", "--secret-file", str(secret_file), "bad")

    assert (good.code, good.out) == (0, "verified\n")
    assert bad.code == 3
    assert bad.out.startswith("NOT to be trusted: no signature matches")


def test_a_new_secret_is_of_the_form(monitor: Monitor) -> None:
    check_secret(monitor("webhook", "secret").out.strip())


def test_a_listener_says_what_it_gets_and_whether_it_is_to_be_trusted(secret_file: Path) -> None:
    command = [sys.executable, "-m", "monitor", "webhook", "listen", "--port", "0", "--secret-file", str(secret_file)]
    environ = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environ) as listener:
        assert listener.stdout is not None
        assert listener.stderr is not None
        url = listener.stderr.readline().split()[2]
        statuses = [_post(url, secret) for secret in (SECRET, OLD_SECRET)]
        lines = [listener.stdout.readline() for _ in statuses]
        listener.send_signal(signal.SIGINT)
        code = listener.wait(60)

    assert statuses == [204, 400]
    assert lines[0] == "msg_1  webhook.test  verified\n"
    assert lines[1].startswith("msg_1  webhook.test  REFUSED: no signature matches")
    assert code == 130


def _post(url: str, secret: str) -> int:
    request = urllib.request.Request(url, BODY, signed_headers("msg_1", BODY, [secret], clock.now()))
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code

"""The receiver in the documentation, run as it stands there."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from monitor import clock
from monitor.deliveries.attempt import Tried
from monitor.deliveries.destination import Destination
from monitor.deliveries.formats import render
from monitor.deliveries.sender import send
from tests.monitor.deliveries.material import OLD_SECRET, SECRET, alert, notice
from tests.servers.ports import free_port

PAGE = Path(__file__).parents[3] / "docs" / "webhooks.md"


@pytest.fixture
def receiver() -> Iterator[tuple[str, subprocess.Popen[str]]]:
    (program,) = [part.split("```")[0] for part in PAGE.read_text("utf-8").split("```python\n")[1:]]
    port = free_port()
    environ = {**os.environ, "WEBHOOK_SECRET": SECRET, "PORT": str(port)}
    running = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env=environ)
    while running.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
    yield f"http://127.0.0.1:{port}/", running
    running.kill()
    running.wait()


def post(url: str, secret: str) -> Tried:
    destination = Destination("ops", "webhook", SecretStr(url), (SecretStr(secret),), allow_private=True)
    return send(destination, "msg_1", render(notice(alert(1)), "standard"), clock.now())


def test_it_is_short() -> None:
    program = PAGE.read_text("utf-8").split("```python\n")[1].split("```")[0]

    assert len([line for line in program.splitlines() if line.strip() and "import" not in line]) <= 20


def test_it_takes_a_message_once_and_refuses_a_wrong_signature(
    receiver: tuple[str, subprocess.Popen[str]],
) -> None:
    url, running = receiver

    answers = [post(url, secret).http_status for secret in (SECRET, SECRET, OLD_SECRET)]
    running.kill()
    out, _ = running.communicate()

    assert answers == [204, 204, 401]
    assert out == "alert.firing critical acme/qwen3-32b: logprobs 0.003 → 0.658 nat, looks like w4-g64\n"

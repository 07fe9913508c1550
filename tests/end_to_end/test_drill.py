"""`monitor drill` with real processes: a drift that is made on purpose reaches the channels, and leaves nothing."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time

import pytest
from standardwebhooks.webhooks import Webhook

from tests.endpoints import hostile
from tests.installation import HANGS_AFTER_S, Installation
from tests.monitor.deliveries.material import SECRET
from tests.monitor.deliveries.receiver import Receiver

pytestmark = pytest.mark.model

# The engine reckons three checks, with all that may have caused the drift.
DRILL_HANGS_AFTER_S = 540
PROVEN = ["serving", "enrolled", "serving", "drift", "confirmed"]


def test_without_any_configuration_a_receiver_of_its_own_verifies_the_notice(installation: Installation) -> None:
    ran = installation.run("drill", "--json", hangs_after_s=DRILL_HANGS_AFTER_S)

    assert (ran.code, ran.err, ran.document["passed"]) == (0, "", True)
    steps = ran.document["steps"]
    assert [step["name"] for step in steps] == [*PROVEN, "delivered", "resolved"]
    assert all(step["ok"] for step in steps)
    assert [step["seconds"] for step in steps] == sorted(step["seconds"] for step in steps)
    assert "looks like w4-g64" in steps[4]["told"]
    assert list(installation.folder.iterdir()) == []


@pytest.mark.soak
def test_a_channel_hears_of_a_drill_and_of_its_end_and_one_that_fails_fails_the_drill(
    installation: Installation,
) -> None:
    with Receiver() as ops, Receiver() as broken:
        broken.fault = hostile.always(500, "broken")
        installation.write(
            {
                "version": 1,
                "models": {},
                "providers": [],
                "channels": [
                    {"id": "ops", "url": ops.url, "secret": "${env:OPS_SECRET}", "allow_private": True},
                    {"id": "broken", "url": broken.url, "format": "slack", "allow_private": True},
                ],
            }
        )
        ran = installation.run("drill", "--json", hangs_after_s=DRILL_HANGS_AFTER_S, OPS_SECRET=SECRET)

    assert (ran.code, ran.document["passed"]) == (5, False)
    assert [(step["name"], step["ok"]) for step in ran.document["steps"][len(PROVEN) :]] == [
        ("delivered", True),
        ("delivered", False),
        ("resolved", True),
    ]
    assert [message.type for message in ops.taken] == ["alert.firing", "alert.resolved"]
    for received in ops.received:
        Webhook(SECRET).verify(received.body, dict(received.headers))
        (alert,) = json.loads(received.body)["data"]["alerts"]
        assert alert["summary"].startswith("DRILL ")
        assert (alert["labels"]["drill"], alert["severity"]) == ("true", "info")
    assert {message.type for message in broken.taken} == set()
    assert not installation.data.exists()


def test_a_drill_that_is_killed_leaves_no_endpoint_behind(installation: Installation) -> None:
    drill = subprocess.Popen(
        [sys.executable, "-m", "monitor", "drill"],
        cwd=installation.folder,
        env=installation.environment(PYTHONUNBUFFERED="1", TMPDIR=str(installation.folder)),
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert drill.stdout is not None
    port = int(drill.stdout.readline().rpartition(":")[2].partition("/")[0])

    os.kill(drill.pid, signal.SIGKILL)

    drill.communicate()
    until = time.monotonic() + HANGS_AFTER_S
    while answers(port):
        assert time.monotonic() < until
        time.sleep(0.05)


def answers(port: int) -> bool:
    with socket.socket() as asking:
        return asking.connect_ex(("127.0.0.1", port)) == 0

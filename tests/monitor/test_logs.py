"""Logging as a process sets it up: in a process of its own, since it is global."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

PROGRAM = """
import logging, warnings
from monitor.logs import configure_logging
logging.basicConfig(level=logging.DEBUG)
configure_logging()
logging.getLogger("httpx").info("GET https://host/?key=canary-canary")
logging.getLogger("httpcore").debug("headers canary-canary")
logging.getLogger("monitor.anything").warning("api_key=%s", "canary-canary")
warnings.warn("sk-canary-canary in a warning", UserWarning)
try:
    raise ValueError("Authorization: Bearer canary-canary")
except ValueError:
    logging.getLogger("asyncio").exception("task failed")
print("done")
"""


AS_JSON = """
import logging
from monitor.logs import configure_service_logging
from monitor.redaction import KNOWN_SECRETS
KNOWN_SECRETS.add('canary "quoted"')
configure_service_logging("worker", "json")
log = logging.getLogger("monitor.anything")
log.info("api_key=%s", "canary-canary")
log.warning("it was %s, twice\\n%s", 'canary "quoted"', 'canary "quoted"')
logging.getLogger("celery").info("not told")
try:
    raise ValueError("Authorization: Bearer canary-canary")
except ValueError:
    log.exception("task failed")
"""


def run(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)


def test_nothing_that_is_logged_holds_a_secret() -> None:
    ran = run(PROGRAM)

    assert ran.stdout == "done\n"
    assert "canary" not in ran.stderr
    assert "WARNING monitor.anything: api_key=[redacted]" in ran.stderr
    assert "sk-" not in ran.stderr
    assert "in a warning" in ran.stderr
    assert "ERROR asyncio: task failed" in ran.stderr
    assert "https://host" not in ran.stderr


def test_as_json_every_line_is_an_object_without_a_secret() -> None:
    told = run(AS_JSON).stderr

    assert "canary" not in told
    lines = [json.loads(line) for line in told.splitlines()]
    assert [(line["level"], line["message"]) for line in lines] == [
        ("info", "api_key=[redacted]"),
        ("warning", "it was [redacted], twice\n[redacted]"),
        ("error", "task failed"),
    ]
    assert {(line["process"], line["logger"]) for line in lines} == {("worker", "monitor.anything")}
    assert "ValueError: Authorization: Bearer [redacted]" in lines[2]["exception"]
    assert all(line["at"].endswith("+00:00") for line in lines)

"""Logging as a process sets it up: in a process of its own, since it is global."""

from __future__ import annotations

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


def test_nothing_that_is_logged_holds_a_secret() -> None:
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, cwd=ROOT)

    assert ran.stdout == "done\n"
    assert "canary" not in ran.stderr
    assert "WARNING monitor.anything: api_key=[redacted]" in ran.stderr
    assert "sk-" not in ran.stderr
    assert "in a warning" in ran.stderr
    assert "ERROR asyncio: task failed" in ran.stderr
    assert "https://host" not in ran.stderr

"""Runs `monitor probe` as a user does, over a folder that holds one provider's configuration and data."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

PROVIDER = "measured"


def probe(folder: Path, *options: str) -> tuple[int, dict[str, Any]]:
    """The exit code and the verdict document; an error ends the benchmark."""
    environment = {
        **os.environ,
        "MONITOR_CONFIG": str(folder / "providers.yaml"),
        "MONITOR_DATA_DIR": str(folder / "data"),
    }
    command = [sys.executable, "-m", "monitor", "probe", "--provider", PROVIDER, "--json", *options]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    document = json.loads(done.stdout)
    if "error" in document:
        sys.exit(f"{document['error']} {done.stderr}")
    return done.returncode, document


def number(value: float | None, form: str) -> str:
    return "–" if value is None else form.format(value)

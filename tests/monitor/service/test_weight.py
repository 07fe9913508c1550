"""What stays out of the processes that run all the time: each of these is megabytes that they have no use for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
STATISTICS = {"numpy", "scipy", "torch"}
ASKING = {"httpx", "httpcore", "probes.client", "monitor.check.run"}
QUEUE = {"celery", "kombu", "redis"}
PRINTING = {"rich", "pygments"}
WEB = {"fastapi", "uvicorn"}
STORE = {"sqlalchemy", "alembic", "pydantic"}


@pytest.mark.parametrize(
    ("modules", "kept_out"),
    [
        (("monitor.service.keep",), STATISTICS | ASKING | QUEUE | PRINTING | WEB | STORE | {"typer", "asyncio"}),
        (("monitor.cli", "monitor.cli.web", "dashboards.app"), STATISTICS | ASKING | QUEUE | PRINTING | {"alembic"}),
        (("monitor.cli", "monitor.cli.worker", "monitor.worker.tasks"), WEB | {"scipy", "torch", "alembic"}),
    ],
)
def test_a_process_imports_nothing_that_only_others_need(modules: tuple[str, ...], kept_out: set[str]) -> None:
    script = f"import sys, {', '.join(modules)}; print(*sys.modules, sep='\\n')"
    ran = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)

    assert not kept_out & set(ran.stdout.split())

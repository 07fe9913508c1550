"""A client that a public generator makes of docs/openapi.json works against the real server."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import uvicorn

from tests.monitor.api.served import Api
from tests.monitor.api.test_resources import configure

ROOT = Path(__file__).parents[3]
GENERATOR = "openapi-python-client==0.29.1"
USE = """
import json, sys
from endpoint_monitor_client import AuthenticatedClient
from endpoint_monitor_client.api.providers import list_providers

url, token = sys.argv[1:]
with AuthenticatedClient(base_url=url, token=token, raise_on_unexpected_status=True) as client:
    print(json.dumps([provider.to_dict()["slug"] for provider in list_providers.sync(client=client).items]))
"""


@contextmanager
def listening(api: Api) -> Iterator[str]:
    server = uvicorn.Server(uvicorn.Config(api.app, host="127.0.0.1", port=0, log_level="warning"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            thread.join(0.05)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


@pytest.mark.soak
def test_a_generated_client_lists_what_is_configured(api: Api, tmp_path: Path) -> None:
    configure(api)
    python = _environment(tmp_path)
    package = _generated(python, tmp_path)

    with listening(api) as url:
        ran = subprocess.run(
            [python, "-c", USE, url, api.token("read")], cwd=package, capture_output=True, text=True, check=False
        )

    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == ["acme"]


def _environment(folder: Path) -> Path:
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    python = folder / "venv" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", GENERATOR], check=True)
    return python


def _generated(python: Path, folder: Path) -> Path:
    command = ["generate", "--path", ROOT / "docs" / "openapi.json", "--output-path", folder / "client"]
    subprocess.run([python, "-m", "openapi_python_client", *command], check=True)
    return folder / "client"

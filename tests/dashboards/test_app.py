"""The application as `monitor web` serves it: opened by the environment, pages and API and health in one."""

from __future__ import annotations

import gc
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from fastapi.testclient import TestClient

from dashboards.app import app

ROOT = Path(__file__).parents[2]


def files_of(folder: str) -> list[Path]:
    return sorted((ROOT / "dashboards" / folder).iterdir())


def test_the_application_opens_what_the_environment_names_and_closes_it(data_dir: Path) -> None:
    with TestClient(app, base_url="http://localhost") as client:
        assert "Nothing is monitored yet" in client.get("/").text
        assert client.get("/api/v1/status").json()["alerts"] == 0
        assert client.get("/healthz").json() == {"status": "ok"}
        assert gc.get_freeze_count() > 0
    assert (data_dir / "monitor.db").exists()
    assert not (data_dir / "monitor.db-wal").exists()


def test_an_installed_package_has_its_templates_and_its_static_files(tmp_path: Path) -> None:
    source = tmp_path / "source"
    shutil.copytree(ROOT / "dashboards", source / "dashboards")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    quiet = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*quiet, "-w", str(tmp_path), str(source)], check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    packed = set(zipfile.ZipFile(wheel).namelist())
    files = [*files_of("templates"), *files_of("static")]
    assert {str(file.relative_to(ROOT)) for file in files} <= packed


def test_every_static_file_that_a_page_names_is_there() -> None:
    templates = "".join(path.read_text("utf-8") for path in files_of("templates"))
    named = set(re.findall(r"/static/([\w.]+)", templates))
    assert named == {path.name for path in files_of("static")}


def test_the_pages_name_no_other_host() -> None:
    text = "".join(path.read_text("utf-8") for path in (*files_of("templates"), *files_of("static")))
    found = re.findall(r"(?:https?:)?//[\w-]+\.[\w.-]+[^\s\"')]*", text)
    assert set(found) <= {"http://www.w3.org/2000/svg"}

"""The command by which the service's own programs are started."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SCRIPT = """
import subprocess, sys
from monitor.service.python import python
sys.exit(subprocess.run(python("calendar", "2026", "11")).returncode)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A working directory with a file that has the name of a module; `bin/script` starts that module."""
    (tmp_path / "calendar.py").write_text("raise SystemExit('that of the folder')")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "script").write_text(SCRIPT)
    return tmp_path


def started(folder: Path, *words: str) -> str:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment = {**inherited, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(
        [sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    return ran.stdout + ran.stderr


def test_what_a_script_starts_does_not_look_into_the_working_directory(folder: Path) -> None:
    assert "November 2026" in started(folder, "bin/script")


def test_what_looked_there_itself_lets_the_new_one_look_too(folder: Path) -> None:
    assert "that of the folder" in started(folder, "-c", SCRIPT)


def test_the_options_of_python_are_passed_on(folder: Path) -> None:
    shown = "from monitor.service.python import python; print(python('m', 'x'))"
    told = started(folder, "-P", "-W", "error::UserWarning", "-X", "utf8", "-c", shown)
    assert told == f"{(sys.executable, '-P', '-Werror::UserWarning', '-X', 'utf8', '-m', 'm', 'x')}\n"

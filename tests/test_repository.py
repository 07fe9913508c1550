"""Facts of the repository that no single module holds: commands, pins, paths, error codes, the secret scan."""

from __future__ import annotations

import importlib
import os
import pkgutil
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from monitor.cli.output import INTERRUPTED
from reference_engine import bundle
from reference_engine.errors import CodedError

ROOT = Path(__file__).parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
ROOMS = tuple(PYPROJECT["tool"]["importlinter"]["root_packages"])
TEXT_FOLDERS = (*ROOMS, "benchmarks", "docs", "tests", ".ci")
TEXT_FILES = ("*.md", "Makefile", "pyproject.toml", "requirements.lock", ".editorconfig", ".gitignore", ".pre-commit*")
MACHINE_PATH = re.compile(r"(?<![\w.~}-])/(?:home|Users|root|work|tmp)" + r"/[\w.-]+")


def repository_files() -> Iterator[Path]:
    for pattern in TEXT_FILES:
        yield from ROOT.glob(pattern)
    for folder in TEXT_FOLDERS:
        yield from (path for path in (ROOT / folder).rglob("*") if path.is_file() and path.suffix != ".pyc")


def modules_of(room: str) -> Iterator[str]:
    yield room
    for module in pkgutil.walk_packages([str(ROOT / room)], f"{room}."):
        if not module.name.endswith(".__main__"):
            yield module.name


def error_classes() -> set[type[CodedError]]:
    """CodedError and its subclasses in any module; the migrations run only under Alembic and define none."""
    for room in ROOMS:
        if room != "migrations":
            for name in modules_of(room):
                importlib.import_module(name)
    found: set[type[CodedError]] = set()
    waiting = [CodedError]
    while waiting:
        error = waiting.pop()
        found.add(error)
        waiting.extend(error.__subclasses__())
    return {error for error in found if error.__module__.split(".")[0] in ROOMS}


def documented_errors() -> dict[str, tuple[int, int]]:
    """Code → (exit code, HTTP status), as docs/errors.md says under each heading."""
    text = (ROOT / "docs" / "errors.md").read_text("utf-8")
    entry = re.compile(r"^### `(\w+)`\n\nExit code (\d+) · HTTP (\d{3})\n", re.MULTILINE)
    return {code: (int(exit_code), int(status)) for code, exit_code, status in entry.findall(text)}


def pins() -> dict[str, str]:
    lines = (ROOT / "requirements.lock").read_text("utf-8").splitlines()
    requirements = [Requirement(line.split(" #")[0]) for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(pin.name): next(iter(pin.specifier)).version for pin in requirements}


def test_every_error_code_has_a_heading_and_no_heading_is_stale() -> None:
    headings = re.findall(r"^### `(\w+)`$", (ROOT / "docs" / "errors.md").read_text("utf-8"), re.MULTILINE)
    assert sorted(headings) == sorted({error.code for error in error_classes()} | {INTERRUPTED.code})


def test_every_heading_gives_the_exit_code_and_status_of_its_errors() -> None:
    documented = documented_errors()
    wrong = [
        f"{error.__qualname__}: exit code {error.exit_code}, HTTP {error.status}, code {error.code}"
        for error in error_classes()
        if documented[error.code] != (error.exit_code, error.status)
    ]
    assert wrong == []


@pytest.mark.parametrize("name", PYPROJECT["project"]["scripts"])
def test_a_console_script_answers_help(name: str) -> None:
    module, function = PYPROJECT["project"]["scripts"][name].split(":")
    start = f"import sys; from {module} import {function}; sys.argv = [{name!r}, '--help']; sys.exit({function}())"

    plain = {**os.environ, "NO_COLOR": "1", "_TYPER_FORCE_DISABLE_TERMINAL": "1"}
    answer = subprocess.run(
        [sys.executable, "-c", start], cwd=ROOT, env=plain, capture_output=True, text=True, check=False
    )

    assert answer.returncode == 0, answer.stderr
    assert f"Usage: {name} " in answer.stdout


@pytest.mark.parametrize(
    "requirement",
    [
        *PYPROJECT["build-system"]["requires"],
        *PYPROJECT["project"]["dependencies"],
        *PYPROJECT["project"]["optional-dependencies"]["test"],
    ],
)
def test_the_lock_satisfies_a_requirement(requirement: str) -> None:
    wanted = Requirement(requirement)
    assert wanted.specifier.contains(pins()[canonicalize_name(wanted.name)])


def test_the_model_that_setup_fetches_is_the_bundled_one() -> None:
    pinned = re.search(r"^MODEL := (\S+)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert pinned
    fetched, bundled = Requirement(pinned[1]), Requirement(bundle.known_model(bundle.BUNDLED).requirement)
    assert fetched.name == bundled.name
    assert bundled.specifier.contains(next(iter(fetched.specifier)).version)


def test_the_lock_pins_no_build_of_torch() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", pins()["torch"])


def test_every_product_dependency_says_why_it_is_there() -> None:
    block = (ROOT / "pyproject.toml").read_text("utf-8").split("\ndependencies = [\n")[1].split("\n]\n")[0]
    assert [line for line in block.splitlines() if not re.search(r"\",\s+# \S", line)] == []


def test_pytest_reports_in_full() -> None:
    options = PYPROJECT["tool"]["pytest"]["ini_options"]["addopts"].split()
    assert [option for option in options if option == "--quiet" or re.fullmatch(r"-\w*q\w*", option)] == []


def test_no_file_names_a_path_of_one_machine() -> None:
    found = []
    for path in repository_files():
        try:
            text = path.read_text("utf-8")
        except UnicodeDecodeError:
            continue
        found += [f"{path.relative_to(ROOT)}: {match}" for match in MACHINE_PATH.findall(text)]
    assert found == []


def test_the_pattern_for_paths_of_one_machine_finds_them() -> None:
    assert MACHINE_PATH.findall("model: /" + "home/ada/models/x.gguf, data in '/" + "tmp/monitor'") == [
        "/" + "home/ada",
        "/" + "tmp/monitor",
    ]


@pytest.mark.parametrize(
    "secret",
    [
        "aws_key = 'AKIA" + "Q3EGRIHU7ZTMWD5X'",
        "-----BEGIN RSA " + "PRIVATE KEY-----",
        "openai = 'sk-" + "3xQmZ8rTn2LwVbKc7YpT3Blb" + "kFJa9sDfGh1JkLzXcVbNmQw'",
    ],
    ids=["aws", "private-key", "openai"],
)
def test_the_secret_scan_finds_a_planted_secret(tmp_path: Path, secret: str) -> None:
    planted = tmp_path / "settings.py"
    planted.write_text(secret + "\n")

    hook = [sys.executable, "-m", "detect_secrets.pre_commit_hook", "--baseline", ".secrets.baseline", str(planted)]
    scan = subprocess.run(hook, cwd=ROOT, capture_output=True, text=True, check=False)

    assert scan.returncode == 1, scan.stdout + scan.stderr
    assert "Potential secrets" in scan.stdout

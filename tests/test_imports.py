"""The import rules of pyproject.toml hold, and each of them is able to fail."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
LINT_IMPORTS = "from importlinter.cli import lint_imports_command; lint_imports_command()"

BREACHES = {
    "Imports run one way: dashboards, monitor, probes, reference_engine": [
        ("reference_engine/chat.py", "import probes"),
        ("probes/plan.py", "from monitor import errors"),
        ("monitor/api.py", "import dashboards"),
    ],
    "Only the transport imports httpx": [
        ("probes/client.py", "import httpx"),
        ("monitor/deliver.py", "import requests"),
        ("reference_engine/remote.py", "from urllib3 import PoolManager"),
    ],
    "The statistics do no I/O, read no clock and know no database": [
        ("monitor/drift/rule.py", "import time"),
        ("monitor/drift/rule.py", "from datetime import datetime"),
        ("monitor/drift/shift.py", "import sqlalchemy.orm"),
        ("monitor/drift/shift.py", "from monitor import clock"),
    ],
    "The alert machine does no I/O, reads no clock and knows no database": [
        ("monitor/alerts/step.py", "from monitor import clock"),
        ("monitor/alerts/core.py", "import sqlalchemy.orm"),
        ("monitor/alerts/replay.py", "from monitor.store import Store"),
    ],
    "Schedules are times in, slots out": [
        ("monitor/schedule/slots.py", "from monitor import clock"),
        ("monitor/schedule/slots.py", "from monitor.store import Store"),
    ],
    "Other rooms use the reference engine's public interface only": [
        ("probes/logprobs.py", "from reference_engine.weights import gguf"),
        ("monitor/expect.py", "import reference_engine.model"),
    ],
    "Probes ask; they know no tensors": [
        ("probes/border.py", "import torch"),
        ("probes/accounting.py", "from sqlalchemy import select"),
    ],
}


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", LINT_IMPORTS, "--no-cache", "--no-logo"],
        cwd=folder,
        env={"PYTHONPATH": str(folder), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


def linter_settings() -> dict[str, Any]:
    settings: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    return settings


def modules_the_rules_name() -> set[str]:
    """Every module of our own that a rule names; import-linter refuses a rule about a module that is not there."""
    settings = linter_settings()
    rooms = tuple(settings["root_packages"])
    named = set(rooms)
    for contract in settings["contracts"]:
        exceptions = [side.strip() for pair in contract.get("ignore_imports", []) for side in pair.split("->")]
        for key in ("layers", "source_modules", "forbidden_modules"):
            named.update(contract.get(key, []))
        named.update(exceptions)
    return {name for name in named if name.split(".")[0] in rooms}


@pytest.fixture
def lawful_tree(tmp_path: Path) -> Path:
    """A copy of the rules over packages that hold nothing but the exceptions the rules grant."""
    (tmp_path / "pyproject.toml").write_bytes((ROOT / "pyproject.toml").read_bytes())
    for name in sorted(modules_the_rules_name()):
        folder = tmp_path.joinpath(*name.split("."))
        folder.mkdir(parents=True)
        (folder / "__init__.py").touch()
    for contract in linter_settings()["contracts"]:
        for pair in contract.get("ignore_imports", []):
            importer, imported = (side.strip() for side in pair.split("->"))
            with (tmp_path.joinpath(*importer.split(".")) / "__init__.py").open("a") as module:
                module.write(f"import {imported}\n")
    return tmp_path


def test_the_tree_keeps_every_import_rule() -> None:
    report = lint_imports(ROOT)
    assert report.returncode == 0, report.stdout + report.stderr
    assert f"{len(linter_settings()['contracts'])} kept, 0 broken" in report.stdout


def test_every_rule_has_a_breach_that_it_must_catch() -> None:
    assert {contract["name"] for contract in linter_settings()["contracts"]} == set(BREACHES)


def test_the_lawful_tree_breaks_no_rule(lawful_tree: Path) -> None:
    report = lint_imports(lawful_tree)
    assert report.returncode == 0, report.stdout + report.stderr


@pytest.mark.parametrize(
    ("rule", "module", "statement"),
    [(rule, module, statement) for rule, breaches in BREACHES.items() for module, statement in breaches],
)
def test_a_breach_is_caught(lawful_tree: Path, rule: str, module: str, statement: str) -> None:
    (lawful_tree / module).write_text(statement + "\n")

    report = lint_imports(lawful_tree)

    assert report.returncode == 1, report.stdout + report.stderr
    assert f"{rule} BROKEN" in report.stdout

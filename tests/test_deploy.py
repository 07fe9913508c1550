"""The examples of how to run the service call commands, options and variables that there are."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.main import get_command

from monitor.cli import app as monitor_app
from monitor.service.metrics import exposition
from monitor.settings import PREFIX, Settings
from monitor.store import Store
from monitor.store.figures import Standing
from reference_engine.cli import app as engine_app
from tests.monitor.store.material import AT

ROOT = Path(__file__).parent.parent
PROGRAMS = {"monitor": monitor_app, "reference-engine": engine_app}
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))
UNITS = sorted((ROOT / "deploy").glob("*.service"))
VARIABLES = {f"{PREFIX}{name.upper()}" for name in Settings.model_fields}


def own_services() -> dict[str, dict[str, Any]]:
    return {name: service for name, service in COMPOSE["services"].items() if "build" in service}


def started(unit: Path) -> list[str]:
    return shlex.split(re.findall(r"^ExecStart=\S*/(.*)$", unit.read_text("utf-8"), re.MULTILINE)[0])


def assert_understood(words: list[str]) -> None:
    """The program takes the words: it has the command, the options, and values of their types."""
    command: Any = get_command(PROGRAMS[words[0]])
    context = command.make_context(words[0], [], resilient_parsing=True)
    _, found, rest = command.resolve_command(context, words[1:])
    found.make_context(words[1], list(rest))


@pytest.mark.parametrize("name", own_services())
def test_a_service_of_compose_is_started_by_a_command_that_there_is(name: str) -> None:
    assert_understood(COMPOSE["services"][name]["command"])


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_a_unit_is_started_by_a_command_that_there_is(unit: Path) -> None:
    assert_understood(started(unit))


def test_every_process_of_the_service_is_in_compose() -> None:
    assert set(COMPOSE["services"]) == {"postgres", "valkey", "web", "worker", "beat", "reference"}


@pytest.mark.parametrize("path", ["compose.yaml", "Dockerfile", "docs/deploy.md", *(f"deploy/{u.name}" for u in UNITS)])
def test_every_variable_of_an_example_is_one_of_the_settings(path: str) -> None:
    named = set(re.findall(rf"\b{PREFIX}[A-Z_]+", (ROOT / path).read_text("utf-8")))
    assert named - VARIABLES == set()


def test_no_service_of_compose_is_open_to_the_network() -> None:
    published = [port for service in COMPOSE["services"].values() for port in service.get("ports", ())]
    assert published
    assert all(port.startswith("127.0.0.1:") for port in published)


def test_every_metric_is_described_with_its_labels(tmp_path: Path) -> None:
    with Store.open(tmp_path / "monitor.db", at=AT) as store:
        text = exposition(Standing(store.sessions).figures(AT), AT).decode()
    table = (ROOT / "docs" / "deploy.md").read_text("utf-8").split("### Metrics")[1].split("###")[0]

    assert re.findall(r"^\| `(\w+)`", table, re.MULTILINE) == re.findall(r"^# TYPE (\w+)", text, re.MULTILINE)


def test_in_production_too_a_configuration_is_applied() -> None:
    blocks = (ROOT / "docs" / "deploy.md").read_text("utf-8").split("```sh\n")[1:]
    upgrading = [block.split("```")[0] for block in blocks if "monitor db upgrade" in block.split("```")[0]]

    assert len(upgrading) == 2
    assert all("monitor config apply " in block for block in upgrading)

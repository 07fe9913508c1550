"""Runs `monitor` as a user does, in a folder of its own."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from monitor.cli import Commands, main
from monitor.store import EndpointRecord, Store
from tests.monitor.cli.commands import BAD_COMMANDS, Monitor, Ran
from tests.monitor.store.material import AT, identity


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which the command runs; what it keeps where nothing else is said lies there as well."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    return tmp_path


@pytest.fixture
def monitor(folder: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Monitor]:
    """`monitor("config", "check")`: its exit code, stdout and stderr."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level

    def run(*arguments: str) -> Ran:
        code = main(arguments)
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    yield run
    logging.captureWarnings(capture=False)
    root.handlers[:], root.level = handlers, level


@pytest.fixture
def bad_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Commands, "entries", (*Commands.entries, *BAD_COMMANDS))


@pytest.fixture
def store(data_dir: Path) -> Iterator[Store]:
    data_dir.mkdir()
    with Store.open(data_dir / "monitor.db", at=AT) as opened:
        yield opened


@pytest.fixture
def endpoint(store: Store) -> EndpointRecord:
    return store.ensure_endpoint(identity(served_name="acme/smol"), at=AT)

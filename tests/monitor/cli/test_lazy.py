"""Lazy commands: what the group lists, and what it loads when one is run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from monitor.cli import Commands
from monitor.cli.lazy import LazyEntry
from tests.monitor.cli.commands import Monitor

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("entry", Commands.entries, ids=lambda entry: entry.name)
def test_every_command_loads_and_is_called_as_it_is_listed(entry: LazyEntry) -> None:
    command = entry.load()

    assert command.name == entry.name
    assert command.help


def test_names_and_helps_are_distinct_sentences() -> None:
    names = [entry.name for entry in Commands.entries]
    helps = [entry.help for entry in Commands.entries]

    assert len(set(names)) == len(set(helps)) == len(names)
    assert all(text[0].isupper() and text[-1] in ".?" for text in helps)


def test_a_commands_own_help_is_shown_when_it_is_asked(monitor: Monitor) -> None:
    ran = monitor("config", "--help")

    assert ran.code == 0
    assert " init " in ran.out
    assert " check " in ran.out


def test_a_single_command_has_no_options_to_install_completion(monitor: Monitor) -> None:
    ran = monitor("version", "--help")

    assert "--json" in ran.out
    assert "--install-completion" not in ran.out


def test_completion_knows_the_commands_and_their_sub_commands() -> None:
    def complete(words: str, current: int) -> str:
        environment = {
            "_MONITOR_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(current),
            "PATH": "",
        }
        program = "import sys; from monitor.cli import main; sys.exit(main([]))"
        ran = subprocess.run(
            [sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
        )
        return ran.stdout

    assert {"probe", "providers"} <= set(complete("monitor pro", 1).split())
    assert {"init", "check"} <= set(complete("monitor config ", 2).split())

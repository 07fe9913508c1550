"""`monitor silence`: made with an end, listed, ended early."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from monitor import clock
from tests.monitor.cli.commands import Monitor


def add(monitor: Monitor, *arguments: str) -> str:
    ran = monitor("silence", "add", *(arguments or ("provider=acme",)), "--for", "2h", "--comment", "known")
    assert (ran.code, ran.err) == (0, "")
    return str(ran.out.split()[0])


def test_a_silence_has_its_labels_author_reason_and_end(monitor: Monitor, data_dir: Path) -> None:
    made = add(monitor, "provider=ac*", "severity=warning")

    (item,) = monitor("silence", "list", "--json").document["items"]

    assert (item["id"], item["status"], item["comment"]) == (made, "active", "known")
    assert item["matchers"] == {"provider": "ac*", "severity": "warning"}
    assert item["author"].startswith("cli:")
    assert datetime.fromisoformat(item["ends_at"]) - datetime.fromisoformat(item["starts_at"]) == timedelta(hours=2)
    assert datetime.fromisoformat(item["starts_at"]) <= clock.now()
    assert made in monitor("silence", "list").out


def test_an_expired_silence_is_listed_when_asked_for(monitor: Monitor, data_dir: Path) -> None:
    made = add(monitor)

    assert monitor("silence", "expire", made).out.startswith(f"{made} until ")

    assert monitor("silence", "list").err == "No silence holds.\n"
    (item,) = monitor("silence", "list", "--all", "--json").document["items"]
    assert (item["id"], item["status"]) == (made, "over")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("acme", "--for", "2h", "--comment", "x"), "'acme' is not a label with its value."),
        (("provider=", "--for", "2h", "--comment", "x"), "is not a label with its value."),
        (("provider=acme", "--for", "soon", "--comment", "x"), "--for 'soon' must be"),
        (("provider=acme", "--for", "0s", "--comment", "x"), "--for '0s' must be more than 0"),
    ],
)
def test_what_cannot_be_silenced_is_said_and_leaves_nothing_behind(
    monitor: Monitor, data_dir: Path, arguments: tuple[str, ...], message: str
) -> None:
    ran = monitor("silence", "add", *arguments)

    assert ran.code == 2
    assert message in ran.err
    assert not data_dir.exists()


@pytest.mark.parametrize("saved", [True, False])
def test_an_unknown_silence_is_named(monitor: Monitor, data_dir: Path, saved: bool) -> None:
    if saved:
        add(monitor)

    ran = monitor("silence", "expire", "sil_1")

    assert ran.code == 2
    assert "There is no silence sil_1." in ran.err
    assert data_dir.exists() == saved


def test_nothing_silenced_is_no_error(monitor: Monitor, data_dir: Path) -> None:
    assert monitor("silence", "list").err == "No silence holds.\n"
    assert monitor("silence", "list", "--all", "--json").document == {"schema": "monitor.silences/1", "items": []}
    assert not data_dir.exists()

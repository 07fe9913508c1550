"""`monitor config diff|apply|export|schema`: from the file to the database and back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from monitor import clock
from monitor.config import load_config
from monitor.config.json_schema import json_schema
from monitor.store import Store
from monitor.store.config import ConfigObjects
from monitor.store.vocabulary import ConfigKind
from tests.monitor.cli.commands import CANARY, Monitor

TEXT = """\
version: 1
models: { m: {} }
providers:
  - slug: acme
    base_url: https://api.acme.ai/v1
    api_key: ${env:ACME_API_KEY}
    models: [ { model: m, name: acme/m } ]
"""


@pytest.fixture
def file(folder: Path, data_dir: Path) -> Path:
    path = folder / "providers.yaml"
    path.write_text(TEXT)
    return path


def test_diff_shows_what_apply_would_do_and_leaves_nothing_behind(monitor: Monitor, file: Path, data_dir: Path) -> None:
    ran = monitor("config", "diff")

    assert (ran.code, ran.out) == (0, "+ model m\n+ provider acme\n")
    assert "`monitor config apply`" in ran.err
    assert not data_dir.exists()


def test_apply_makes_the_file_count(monitor: Monitor, file: Path) -> None:
    applied = monitor("config", "apply")
    file.write_text(TEXT.replace("  - slug: acme", "  - slug: bolt") + "    timeout: 5s\n")
    differs = monitor("config", "diff")

    assert (applied.code, applied.out) == (0, "+ model m\n+ provider acme\n")
    assert "Applied 2 changes" in applied.err
    assert differs.out == "+ provider bolt\n- provider acme\n"
    assert "Is provider bolt what acme was? With `renamed_from: acme` it keeps its history." in differs.err


def test_a_new_name_is_shown_as_one(monitor: Monitor, file: Path) -> None:
    monitor("config", "apply")
    file.write_text(TEXT.replace("  - slug: acme", "  - slug: bolt\n    renamed_from: acme") + "    timeout: 5s\n")

    differs, document = monitor("config", "diff"), monitor("config", "apply", "--json").document

    assert differs.out == "> provider bolt: was acme, timeout\n"
    assert document["rename"] == [{"kind": "provider", "slug": "bolt", "renamed_from": "acme", "keys": ["timeout"]}]
    assert (document["create"], document["disable"]) == ([], [])
    assert monitor("config", "diff").err == "Nothing to change.\n"


def test_a_change_names_its_keys_and_not_their_values(monitor: Monitor, file: Path) -> None:
    monitor("config", "apply")
    file.write_text(TEXT + f"    headers: {{ X-Note: {CANARY} }}\n")

    assert monitor("config", "diff").out == "~ provider acme: headers\n"
    assert monitor("config", "apply", "--json").document == {
        "schema": "monitor.config_plan/1",
        "applied": True,
        "create": [],
        "rename": [],
        "update": [{"kind": "provider", "slug": "acme", "keys": ["headers"]}],
        "disable": [],
        "unchanged": 1,
    }


def test_a_dry_run_changes_nothing(monitor: Monitor, file: Path) -> None:
    assert monitor("config", "apply", "--dry-run", "--json").document["applied"] is False
    assert monitor("config", "diff").out == "+ model m\n+ provider acme\n"


def test_what_is_applied_already_needs_nothing(monitor: Monitor, file: Path) -> None:
    monitor("config", "apply")

    again = monitor("config", "apply")

    assert (again.code, again.out, again.err) == (0, "", "Nothing to change.\n")


def test_a_file_with_problems_is_not_applied(monitor: Monitor, file: Path, data_dir: Path) -> None:
    file.write_text(TEXT + "routez: []\n")

    ran = monitor("config", "apply")

    assert ran.code == 2
    assert "providers.yaml:8: routez: unknown key; did you mean 'routes'?" in ran.err
    assert not data_dir.exists()


def test_export_is_a_file_that_says_the_same(monitor: Monitor, file: Path, data_dir: Path) -> None:
    monitor("config", "apply")
    with Store.open(data_dir / "monitor.db", at=clock.now()) as store:
        channel = {"url": "${env:OPS_HOOK}", "format": "slack"}
        ConfigObjects(store.sessions).create(ConfigKind.CHANNEL, "ops", channel, actor="test", at=clock.now())

    exported = monitor("config", "export")
    file.write_text(exported.out)

    assert [channel.id for channel in load_config(file).file.channels] == ["ops"]
    assert "api_key: ${env:ACME_API_KEY}" in exported.out
    assert monitor("config", "diff").out == "~ channel ops: managed by the file from now on\n"


def test_export_needs_something_that_was_applied(monitor: Monitor, file: Path) -> None:
    ran = monitor("config", "export")

    assert (ran.code, ran.out) == (2, "")
    assert "`monitor config apply`" in ran.err


def test_schema_prints_the_schema(monitor: Monitor) -> None:
    ran = monitor("config", "schema")

    assert ran.out == json_schema()
    assert json.loads(ran.out)["title"] == "providers.yaml"

"""`monitor config`: the file it writes works, and what it checks it reports."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from monitor.config import load_config
from monitor.config.example import EXAMPLE
from tests.monitor.cli.commands import CANARY, Monitor

HOSTED = """\
version: 1
models: { m: {} }
providers:
  - slug: acme
    base_url: https://api.acme.ai/v1
    api_key: ${env:ACME_API_KEY}
    models: [ { model: m, name: acme/m } ]
"""


def test_init_writes_a_file_that_works(monitor: Monitor, folder: Path) -> None:
    ran = monitor("config", "init")

    assert (ran.code, ran.out) == (0, "")
    assert ran.err.startswith("Wrote providers.yaml.")
    assert load_config(folder / "providers.yaml").endpoints("x")
    assert [path.name for path in folder.iterdir()] == ["providers.yaml"]


def test_init_writes_where_monitor_config_points(
    monitor: Monitor, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MONITOR_CONFIG", str(folder / "mine.yaml"))

    assert monitor("config", "init").code == 0
    assert (folder / "mine.yaml").read_text() == EXAMPLE


def test_init_writes_the_file_it_is_given(monitor: Monitor, folder: Path) -> None:
    assert monitor("config", "init", "other.yaml").code == 0
    assert (folder / "other.yaml").read_text() == EXAMPLE


def test_init_does_not_overwrite(monitor: Monitor, folder: Path) -> None:
    (folder / "providers.yaml").write_text("mine")

    ran = monitor("config", "init")

    assert ran.code == 2
    assert ran.err == "error[usage]: providers.yaml is there already.\n--force replaces it.\n"
    assert (folder / "providers.yaml").read_text() == "mine"
    assert [path.name for path in folder.iterdir()] == ["providers.yaml"]


def test_init_overwrites_when_it_is_told_to(monitor: Monitor, folder: Path) -> None:
    (folder / "providers.yaml").write_text("mine")

    assert monitor("config", "init", "--force").code == 0
    assert (folder / "providers.yaml").read_text() == EXAMPLE


def test_init_into_a_folder_that_is_not_there_says_so(monitor: Monitor) -> None:
    ran = monitor("config", "init", "no/such/folder.yaml")

    assert ran.code == 2
    assert "no/such/folder.yaml cannot be written: No such file or directory." in ran.err


@pytest.mark.parametrize("file", [".", "/"])
def test_init_into_what_is_no_file_name_says_so(monitor: Monitor, file: str) -> None:
    ran = monitor("config", "init", file)

    assert (ran.code, ran.err) == (2, f"error[usage]: {file} is a folder.\nName a file in it.\n")


def test_init_on_a_full_disk_leaves_the_old_file(monitor: Monitor, folder: Path) -> None:
    (folder / "providers.yaml").write_text("mine")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (16, hard))
    try:
        ran = monitor("config", "init", "--force")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert ran.code == 2
    assert "providers.yaml cannot be written: File too large." in ran.err
    assert (folder / "providers.yaml").read_text() == "mine"
    assert [path.name for path in folder.iterdir()] == ["providers.yaml"]


def test_check_shows_each_endpoint(monitor: Monitor, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACME_API_KEY", CANARY)
    (folder / "providers.yaml").write_text(HOSTED)

    ran = monitor("config", "check")

    assert (ran.code, ran.err) == (0, "")
    header, row, summary = ran.out.splitlines()
    assert header.split("   ")[0] == "provider"
    assert row.split() == ["acme", "m", "acme/m", "none", "${env:ACME_API_KEY}"]
    assert summary == "providers.yaml is valid."
    assert CANARY not in ran.out


def test_check_accepts_what_init_writes(monitor: Monitor, bundled_model: Path) -> None:
    monitor("config", "init")

    ran = monitor("config", "check")

    assert ran.code == 0
    assert ran.out.splitlines()[1].split() == ["x", "smol", "smol", "bundled", "fp32,", "bf16", "none"]


def test_check_reports_every_problem_with_exit_2(monitor: Monitor, folder: Path) -> None:
    (folder / "providers.yaml").write_text(HOSTED.replace("version: 1", "version: 7").replace("slug:", "slgu:"))

    ran = monitor("config", "check")

    assert (ran.code, ran.out) == (2, "")
    assert ran.err.splitlines() == [
        "error[config_invalid]: providers.yaml has 3 problems:",
        "providers.yaml:1: version: must be 1, the only version there is",
        "providers.yaml:4: providers[0].slgu: unknown key; did you mean 'slug'?",
        "providers.yaml:4: providers[0].slug: is required and missing",
        "`monitor config check` checks it again.",
    ]


def test_check_reports_a_key_that_is_not_set(monitor: Monitor, folder: Path) -> None:
    (folder / "providers.yaml").write_text(HOSTED)

    ran = monitor("config", "check")

    assert ran.code == 2
    assert "providers.yaml:6: providers[0].api_key: ${env:ACME_API_KEY} is not set." in ran.err


def test_check_hints_at_a_base_url_without_a_path(
    monitor: Monitor, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACME_API_KEY", CANARY)
    (folder / "providers.yaml").write_text(HOSTED.replace("/v1", ""))

    ran = monitor("config", "check")

    assert ran.code == 0
    assert ran.err.startswith("note: providers.yaml:5: providers[0].base_url: has no path;")


def test_check_as_json_is_one_document_good_or_bad(monitor: Monitor, folder: Path) -> None:
    (folder / "providers.yaml").write_text(HOSTED)

    bad = monitor("config", "check", "--json")

    assert (bad.code, bad.err) == (2, "")
    assert bad.document == {
        "schema": "monitor.config_check/1",
        "file": "providers.yaml",
        "ok": False,
        "problems": [
            {
                "line": 6,
                "key": "providers[0].api_key",
                "message": "${env:ACME_API_KEY} is not set. Set the environment variable ACME_API_KEY.",
            }
        ],
        "notes": [],
        "providers": ["acme"],
        "models": ["m"],
    }

    (folder / "providers.yaml").write_text(HOSTED.replace("    api_key: ${env:ACME_API_KEY}\n", ""))
    good = monitor("config", "check", "--json")

    assert (good.code, good.document["ok"], good.document["problems"]) == (0, True, [])


def test_a_missing_file_is_an_error_document_with_json(monitor: Monitor) -> None:
    ran = monitor("config", "check", "--json")

    assert ran.code == 2
    assert ran.document["error"]["code"] == "config_invalid"
    assert "There is no configuration file providers.yaml." in ran.document["error"]["message"]
    assert "`monitor config init`" in ran.document["error"]["remedy"]


@pytest.mark.parametrize("command", [("config", "check"), ("config", "check", "--json"), ("providers", "list")])
@pytest.mark.parametrize(
    "line", [f"api_key: {CANARY}", f"api_key: '{CANARY}", f"headers: {{ Authorization: {CANARY} }}"]
)
def test_a_key_in_the_file_reaches_no_output(
    monitor: Monitor, folder: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], line: str
) -> None:
    monkeypatch.setenv("MONITOR_DEBUG", "1")
    (folder / "providers.yaml").write_text(HOSTED.replace("api_key: ${env:ACME_API_KEY}", line))

    ran = monitor(*command)

    assert ran.code == 2
    assert CANARY not in ran.out + ran.err

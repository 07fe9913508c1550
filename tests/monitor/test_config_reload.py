"""Reading the file again: what is right takes effect, what is wrong changes nothing."""

from __future__ import annotations

from pathlib import Path

from monitor.config import load_config
from monitor.config.reload import reloaded

GOOD = "version: 1\nmodels: { m: }\n"


def test_a_good_file_takes_effect(tmp_path: Path) -> None:
    path = tmp_path / "providers.yaml"
    path.write_text(GOOD)
    old = load_config(path)
    path.write_text(GOOD.replace("m:", "n:"))

    now = reloaded(old, path)

    assert list(now.config.file.models) == ["n"]
    assert now.problems == ()


def test_a_file_with_problems_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "providers.yaml"
    path.write_text(GOOD)
    old = load_config(path)
    path.write_text(GOOD + "routez: []\n")

    now = reloaded(old, path)

    assert now.config is old
    assert [(problem.line, problem.key) for problem in now.problems] == [(3, "routez")]


def test_a_file_that_is_gone_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "providers.yaml"
    path.write_text(GOOD)
    old = load_config(path)
    path.unlink()

    now = reloaded(old, path)

    assert now.config is old
    assert "There is no configuration file" in now.problems[0].message

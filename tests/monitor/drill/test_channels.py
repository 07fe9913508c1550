"""Which channels a drill has to reach."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from monitor import clock
from monitor.config import load_config
from monitor.config.objects import objects_of
from monitor.drill.channels import configured_channels
from monitor.errors import ConfigError, NotFoundError, UsageError
from monitor.store import Store
from monitor.store.channel_health import lock
from monitor.store.config import ConfigObjects
from monitor.store.tables import ChannelHealth

OPS = {"id": "ops", "url": "https://ops.example/hook", "secret": "${env:S}"}
CHAT = {"id": "chat", "url": "https://chat.example/hook", "secret": "${env:S}"}
RUNS = {"id": "runs", "url": "https://runs.example/hook", "secret": "${env:S}", "events": ["run.finished"]}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "monitor.db", at=clock.now()) as made:
        yield made


def written(folder: Path, *channels: Mapping[str, Any]) -> Path:
    file = folder / "providers.yaml"
    file.write_text(yaml.safe_dump({"version": 1, "models": {}, "providers": [], "channels": list(channels)}))
    return file


def test_without_a_configuration_there_is_none(tmp_path: Path) -> None:
    assert configured_channels(None, tmp_path / "providers.yaml", None).ids == ()


def test_all_that_hear_of_firing_alerts_take_part_or_the_one_that_is_named(tmp_path: Path) -> None:
    file = written(tmp_path, OPS, RUNS, CHAT)

    assert configured_channels(None, file, None).ids == ("ops", "chat")
    assert configured_channels(None, file, "chat").ids == ("chat",)


def test_what_was_applied_counts_and_not_the_file(tmp_path: Path, store: Store) -> None:
    objects = objects_of(load_config(written(tmp_path, OPS)))
    ConfigObjects(store.sessions).apply(objects, actor="test", at=clock.now())

    assert configured_channels(store, written(tmp_path, CHAT), None).ids == ("ops",)


def test_a_channel_that_the_service_has_switched_off_is_known(tmp_path: Path, store: Store) -> None:
    with store.sessions.write() as session:
        lock(session, ["ops"])
        session.get_one(ChannelHealth, "ops").disabled_at = clock.now()

    assert configured_channels(store, written(tmp_path, OPS, CHAT), None).off == {"ops"}


@pytest.mark.parametrize(
    ("channels", "only", "error"),
    [
        ([OPS], "opps", NotFoundError),
        ([OPS, RUNS], "runs", UsageError),
        ([RUNS], None, UsageError),
    ],
)
def test_a_channel_that_no_drill_can_reach_is_refused(
    tmp_path: Path, channels: list[Mapping[str, Any]], only: str | None, error: type[Exception]
) -> None:
    with pytest.raises(error):
        configured_channels(None, written(tmp_path, *channels), only)


def test_a_channel_without_any_configuration_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        configured_channels(None, tmp_path / "providers.yaml", "ops")


def test_a_configuration_that_nobody_may_look_at_is_no_missing_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        configured_channels(None, tmp_path / ("a" * 300), None)

"""What is made ready before the service's processes start, and again on SIGHUP."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import SecretStr
from sqlalchemy import select

from monitor.access.passwords import hash_password
from monitor.errors import BindRefusedError, ConfigError, UnsafeDeploymentError
from monitor.service.prepare import DEGRADED, prepare
from monitor.settings import Settings
from monitor.store import Store
from monitor.store.access import Access
from monitor.store.config import ConfigObjects
from monitor.store.tables import ServiceEvent
from monitor.store.vocabulary import Role
from tests.monitor.store.material import AT, later

LOOPBACK = "127.0.0.1"
VALID = """
version: 1
models: { smol: {} }
providers:
  - { slug: x, base_url: "https://api.example.com/v1", models: [ { model: smol, name: smol } ] }
"""


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(config=tmp_path / "providers.yaml", data_dir=tmp_path / "data")


def providers(settings: Settings) -> list[str]:
    with Store.open(settings.database, at=AT) as store:
        return [provider.slug for provider in ConfigObjects(store.sessions).config().file.providers]


def events(settings: Settings) -> list[str]:
    with Store.open(settings.database, at=AT) as store, store.sessions.read() as session:
        return list(session.scalars(select(ServiceEvent.type)))


def test_without_a_file_it_says_what_to_do_next(settings: Settings) -> None:
    begin = prepare(settings, LOOPBACK, AT)
    assert begin.set_up_token is not None
    assert "`monitor config init` writes" in begin.notes[0]
    assert providers(settings) == []


def test_a_file_is_applied_and_once_more_changes_nothing(settings: Settings) -> None:
    settings.config.write_text(VALID)

    first, second = prepare(settings, LOOPBACK, AT), prepare(settings, LOOPBACK, AT)

    assert first.notes == (f"Applied {settings.config}: 2 changes.",)
    assert second.notes == ()
    assert providers(settings) == ["x"]


def test_a_first_file_with_problems_is_an_error(settings: Settings) -> None:
    settings.config.write_text(VALID + "nonsense: 1\n")
    with pytest.raises(ConfigError, match="nonsense"):
        prepare(settings, LOOPBACK, AT)


def test_a_later_file_with_problems_changes_nothing_and_is_told_once_a_day(settings: Settings) -> None:
    settings.config.write_text(VALID)
    prepare(settings, LOOPBACK, AT)
    settings.config.write_text(VALID.replace("slug: x", "slug: y") + "nonsense: 1\n")

    for minutes in (1, 2):
        (note,) = prepare(settings, LOOPBACK, later(minutes)).notes
        assert "nonsense" in note
        assert note.endswith("The configuration that was applied before stays in force.")

    assert providers(settings) == ["x"]
    assert events(settings) == [DEGRADED]


def test_another_address_needs_a_user_and_a_user_needs_no_link(settings: Settings) -> None:
    with pytest.raises(BindRefusedError):
        prepare(settings, "0.0.0.0", AT)
    with Store.open(settings.database, at=AT) as store:
        Access(store.sessions).create_user("ada", Role.ADMIN, hash_password("correct horse"), actor="test", at=AT)

    assert prepare(settings, "0.0.0.0", AT).set_up_token is None


def test_a_broker_elsewhere_does_not_go_with_sqlite(settings: Settings) -> None:
    with pytest.raises(UnsafeDeploymentError):
        prepare(settings.model_copy(update={"broker_url": SecretStr("redis://192.0.2.1")}), LOOPBACK, AT)


def test_a_file_that_nobody_may_look_at_is_no_missing_file(settings: Settings) -> None:
    unseen = settings.model_copy(update={"config": settings.config.with_name("a" * 300)})
    with pytest.raises(ConfigError, match="cannot be read"):
        prepare(unseen, LOOPBACK, AT)

    settings.config.write_text(VALID)
    prepare(settings, LOOPBACK, AT)

    (note,) = prepare(unseen, LOOPBACK, AT).notes
    assert note.endswith("The configuration that was applied before stays in force.")

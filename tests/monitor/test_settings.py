"""Settings from the environment."""

from __future__ import annotations

from pathlib import Path

import pytest
from platformdirs import user_data_path

from monitor.errors import UsageError
from monitor.settings import load_settings


def test_it_has_defaults_without_any_variable() -> None:
    settings = load_settings()

    assert settings.config == Path("providers.yaml")
    assert settings.data_dir == user_data_path("endpoint-monitor", appauthor=False)
    assert settings.debug is False


def test_it_reads_the_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MONITOR_CONFIG", "/etc/monitor/providers.yaml")
    monkeypatch.setenv("MONITOR_DATA_DIR", "/var/lib/monitor")
    monkeypatch.setenv("MONITOR_DEBUG", "1")

    settings = load_settings()

    assert settings.config == Path("/etc/monitor/providers.yaml")
    assert settings.data_dir == Path("/var/lib/monitor")
    assert settings.debug is True


def test_an_empty_variable_counts_as_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MONITOR_CONFIG", "")

    assert load_settings().config == Path("providers.yaml")


def test_it_expands_the_home_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MONITOR_DATA_DIR", "~/monitor")

    assert load_settings().data_dir == tmp_path / "monitor"


def test_an_unknown_home_directory_is_a_usage_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MONITOR_DATA_DIR", "~nobody-of-this-name/monitor")

    with pytest.raises(UsageError, match=r"MONITOR_DATA_DIR cannot be read: .*home directory") as caught:
        load_settings()

    assert caught.value.exit_code == 2
    assert caught.value.__cause__ is None


def test_an_unreadable_variable_is_named_without_its_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MONITOR_DEBUG", "canary-value")

    with pytest.raises(UsageError, match="MONITOR_DEBUG cannot be read") as caught:
        load_settings()

    assert "canary" not in str(caught.value)


def test_the_public_address_loses_its_last_slash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MONITOR_EXTERNAL_URL", "https://example.com/monitor/")

    assert load_settings().external_url == "https://example.com/monitor"


@pytest.mark.parametrize(
    "url",
    ["example.com", "ftp://example.com", "https://", "https://me@example.com", "https://a.test/?q", "http://a b"],
)
def test_a_public_address_is_one_that_links_can_begin_with(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("MONITOR_EXTERNAL_URL", url)

    with pytest.raises(UsageError, match="MONITOR_EXTERNAL_URL cannot be read"):
        load_settings()

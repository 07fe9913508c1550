"""What the environment says: where the configuration, the data and the other servers are."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from platformdirs import user_data_path
from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from monitor.datadir import DataDir
from monitor.errors import UsageError

PREFIX = "MONITOR_"


def _default_data_dir() -> Path:
    return user_data_path("endpoint-monitor", appauthor=False)


class Settings(BaseSettings):
    """The `MONITOR_*` variables; an empty one counts as unset."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_ignore_empty=True, extra="ignore", frozen=True, hide_input_in_errors=True
    )

    config: Path = Path("providers.yaml")
    data_dir: Path = Field(default_factory=_default_data_dir)
    debug: bool = False
    secret_key: SecretStr | None = None
    secret_key_file: Path | None = None
    suites_key: SecretStr | None = None
    suites_key_file: Path | None = None
    database_url: SecretStr | None = None
    broker_url: SecretStr | None = None
    reference_url: str | None = None
    reference_token: SecretStr | None = None
    external_url: str = ""
    log_format: Literal["text", "json"] = "text"
    lease_seconds: float = Field(default=60.0, gt=0.0, le=600.0)
    worker_max_memory_mb: int = Field(default=2048, ge=256)
    tick_seconds: float = Field(default=10.0, gt=0.0)
    sweep_seconds: float = Field(default=15.0, gt=0.0)
    canary_seconds: float = Field(default=60.0, gt=0.0)
    canary_hosts: str = ""

    @property
    def data(self) -> DataDir:
        url = self.database_url
        return DataDir(self.data_dir, None if url is None else url.get_secret_value())

    @property
    def database(self) -> Path | str:
        """What `Store.open` takes: the URL, or the file in the data directory."""
        return self.data.database

    @property
    def broker(self) -> str:
        """The broker's URL: the one given, or the socket in the data directory."""
        if self.broker_url is not None:
            return self.broker_url.get_secret_value()
        return f"redis+socket://{self.data_dir / 'broker.sock'}"

    @field_validator("external_url")
    @classmethod
    def _web_address(cls, url: str) -> str:
        if not url:
            return url
        from monitor.config.base_url import SCHEMES, split_url  # only where it is set

        parts = split_url(url)
        plain = not (parts.query or parts.fragment or "@" in parts.netloc)
        if parts.scheme not in SCHEMES or not parts.hostname or not plain:
            raise ValueError("it must be http(s)://HOST/PATH, such as https://monitor.example.com")
        return url.rstrip("/")

    @field_validator("config", "data_dir")
    @classmethod
    def _expand_home(cls, path: Path) -> Path:
        try:
            return path.expanduser()
        except RuntimeError as error:
            raise ValueError(f"{path} names a home directory that is not known") from error


def load_settings() -> Settings:
    """Read the environment; raises UsageError naming the variable that cannot be read."""
    try:
        return Settings()
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
    variable = PREFIX + str(first["loc"][0]).upper()
    reason = first["msg"].replace("Input should be", "it must be").replace("Value error, ", "")
    raise UsageError(f"{variable} cannot be read: {reason}.", remedy=f"Correct or unset {variable}.")

"""What the environment says: where the configuration file and the data directory are."""

from __future__ import annotations

from pathlib import Path

from platformdirs import user_data_path
from pydantic import Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from monitor.errors import UsageError

PREFIX = "MONITOR_"


def _default_data_dir() -> Path:
    return user_data_path("endpoint-monitor", appauthor=False)


class Settings(BaseSettings):
    """`MONITOR_CONFIG`, `MONITOR_DATA_DIR` and `MONITOR_DEBUG`; an empty variable counts as unset."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_ignore_empty=True, extra="ignore", frozen=True, hide_input_in_errors=True
    )

    config: Path = Path("providers.yaml")
    data_dir: Path = Field(default_factory=_default_data_dir)
    debug: bool = False

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

"""Reads the configuration file again while the service runs: a file with problems changes nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from monitor.config.load import inspect_config
from monitor.config.problems import Problem
from monitor.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

    from monitor.config.load import Config


@dataclass(frozen=True, slots=True)
class Reloaded:
    """The configuration that counts from now on: the old one exactly when there are problems."""

    config: Config
    problems: tuple[Problem, ...]


def reloaded(old: Config, path: Path) -> Reloaded:
    """What the file says now, or `old` with what is wrong with the file."""
    try:
        inspected = inspect_config(path)
    except ConfigError as error:
        return Reloaded(old, (Problem(None, "", error.message),))
    return Reloaded(inspected.config or old, inspected.problems)

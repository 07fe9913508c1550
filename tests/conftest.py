"""Fixtures that every room's tests share, and the hypothesis profiles."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from argon2 import PasswordHasher
from hypothesis import settings

from monitor.access import passwords
from reference_engine import bundle

pytest_plugins = ("tests.servers.fixtures",)
# Its assertions are to say what they compared.
pytest.register_assert_rewrite("tests.reliability.service")

# A shell starts what it runs in the background with Ctrl-C ignored, and children inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


@pytest.fixture(autouse=True)
def no_settings_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in [name for name in os.environ if name.startswith("MONITOR_")]:
        monkeypatch.delenv(variable)


@pytest.fixture(scope="session", autouse=True)
def passwords_that_are_hashed_fast() -> Iterator[None]:
    """By the same function, which otherwise takes a fifth of a second on purpose each time that somebody signs in."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passwords, "_hasher", PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
        yield


@pytest.fixture
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The path that MONITOR_DATA_DIR names; nothing is there yet."""
    path = tmp_path / "data"
    monkeypatch.setenv("MONITOR_DATA_DIR", str(path))
    return path


@pytest.fixture(scope="session")
def bundled_model() -> Path:
    """The bundled model's .gguf file, as `make setup` fetches it."""
    return bundle.bundled_path()

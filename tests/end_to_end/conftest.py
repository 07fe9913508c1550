"""An installation for each test: a new one, or one whose endpoint was enrolled before."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.endpoints.scripted_model import NOISE, ScriptedModel
from tests.endpoints.server import ScriptedServer
from tests.installation import QUICK, Installation, Ran


@pytest.fixture
def installation(tmp_path: Path) -> Installation:
    return Installation(tmp_path)


@pytest.fixture(scope="session")
def enrolment(tmp_path_factory: pytest.TempPathFactory) -> tuple[Installation, Ran]:
    """The first run of `monitor probe` on a ScriptedModel, made once for all tests."""
    first = Installation(tmp_path_factory.mktemp("enrolment"))
    with ScriptedServer(ScriptedModel(noise=NOISE)) as server:
        first.configure(server.base_url)
        return first, first.probe("--json", *QUICK)


@pytest.fixture
def enrolled(installation: Installation, enrolment: tuple[Installation, Ran]) -> Installation:
    """A copy of the enrolled installation, to be configured for the endpoint as it is now."""
    shutil.copytree(enrolment[0].data, installation.data)
    return installation

"""On which machines workers live, as the rules against unsafe mixes see it."""

from __future__ import annotations

from pathlib import Path

import pytest

from monitor.service.here import deployment
from monitor.settings import Settings
from monitor.store import Beats, Store
from monitor.worker.leaving import leave
from tests.monitor.store.material import AT, later


@pytest.mark.parametrize(("minutes", "hosts"), [(4, {"there"}), (5, set())])
def test_a_worker_counts_until_it_was_silent_for_minutes(tmp_path: Path, minutes: int, hosts: set[str]) -> None:
    settings = Settings(data_dir=tmp_path)
    with Store.open(settings.database, at=AT) as store:
        Beats(store.sessions).seen("worker@there", "worker", [], "1", AT)
        assert deployment(settings, store, later(minutes)).worker_hosts == hosts


def test_a_worker_that_has_left_counts_no_more_until_it_comes_back(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    with Store.open(settings.database, at=AT) as store:
        beats = Beats(store.sessions)
        beats.seen("worker@there", "worker", [], "1", AT)

        leave(settings, "worker@there")
        assert deployment(settings, store, AT).worker_hosts == set()

        beats.seen("worker@there", "worker", [], "1", AT)
        assert deployment(settings, store, AT).worker_hosts == {"there"}


def test_a_worker_without_its_database_leaves_all_the_same(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    leave(Settings(data_dir=tmp_path / "nowhere"), "worker@there")
    assert "The worker's end was not written down" in caplog.text

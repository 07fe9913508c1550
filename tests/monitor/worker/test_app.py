from __future__ import annotations

from monitor.settings import Settings
from monitor.worker.app import make_app


def test_a_process_that_grows_beyond_the_setting_is_replaced() -> None:
    given = make_app(Settings(worker_max_memory_mb=300)).conf

    assert given.worker_max_memory_per_child == 300 * 1024  # KiB
    assert make_app(Settings()).conf.worker_max_memory_per_child == 2 * 1024 * 1024

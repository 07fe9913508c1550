from __future__ import annotations

import pytest

from monitor.store import Beat, Beats, Store
from monitor.store.beats import STOPPED
from tests.monitor.store.material import AT, later


@pytest.fixture
def beats(store: Store) -> Beats:
    return Beats(store.sessions)


def test_a_sign_of_life_is_no_progress_but_the_first(beats: Beats) -> None:
    beats.seen("host:1:2", "worker", ["probe", "eval"], "0.1.0", AT)
    beats.seen("host:1:2", "worker", ["probe"], "0.1.0", later(1))

    assert beats.all() == [Beat("host:1:2", "worker", ("probe",), "0.1.0", AT, later(1), AT)]


def test_progress_is_a_sign_of_life(beats: Beats) -> None:
    beats.seen("host:1:2", "worker", [], "0.1.0", AT)
    beats.progress("host:1:2", later(2))
    beats.progress("nobody", later(3))

    (beat,) = beats.all()
    assert (beat.seen_at, beat.progress_at) == (later(2), later(2))


def test_what_a_process_did_last_stays_known_once_it_has_stopped(beats: Beats) -> None:
    beats.seen("host:1:2", "worker", [], "0.1.0", AT)
    beats.stopped("host:1:2")

    (beat,) = beats.all()
    assert (beat.kind, beat.progress_at) == (STOPPED, AT)


def test_processes_that_are_silent_for_long_are_forgotten(beats: Beats) -> None:
    beats.seen("old", "worker", [], "0.1.0", AT)
    beats.seen("young", "beat", [], "0.1.0", later(5))

    beats.forget(later(5))

    assert [beat.name for beat in beats.all()] == ["young"]


def test_a_setting_is_what_was_put_last(beats: Beats) -> None:
    assert beats.setting("tick") is None

    beats.put_setting("tick", {"at": "12:00"}, AT)
    beats.put_setting("tick", {"at": "12:01"}, later(1))

    assert beats.setting("tick") == {"at": "12:01"}

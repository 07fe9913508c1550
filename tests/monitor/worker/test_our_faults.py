from __future__ import annotations

from datetime import timedelta

import pytest

from monitor import clock
from monitor.store import Beats
from monitor.worker.canary import CONNECTIVITY, Connectivity, canary
from monitor.worker.our_faults import our_faults
from tests.reliability.service import Service

# Nothing listens there.
NOWHERE = "127.0.0.1:9,localhost:9"


@pytest.mark.parametrize("every", [60.0, 600.0])
def test_that_we_are_offline_is_known_for_a_few_canaries_and_no_longer(service: Service, every: float) -> None:
    service.configure("https://api.test/v1", provider={"allow_private": False})
    with service.context(canary_seconds=every, canary_hosts=NOWHERE) as context:
        seen = canary(context)

    def offline(after: float) -> bool:
        return our_faults(service.store, {}, seen.at + timedelta(seconds=after)).offline

    assert [offline(after) for after in (0, 4 * every, 6 * every)] == [True, True, False]


def test_a_word_of_an_earlier_program_holds_for_minutes(service: Service) -> None:
    now, said = clock.now(), clock.now().isoformat()
    Beats(service.store.sessions).put_setting(CONNECTIVITY, {"at": said, "since": said}, now)

    assert our_faults(service.store, {}, now + timedelta(minutes=1)).offline
    assert not our_faults(service.store, {}, now + timedelta(hours=1)).offline
    assert Connectivity.from_json(Connectivity(now, now).to_json()) == Connectivity(now, now)

"""R11: of 10,000 verdicts around the threshold people hear what really happened, once; and of flapping twice a day."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from monitor.alerts.events import EventKind
from monitor.alerts.replay import replay
from monitor.alerts.rule import BUILT_IN
from monitor.alerts.signals import Verdicted
from monitor.drift.rule import Verdict
from monitor.store import EndpointIdentity, Store
from monitor.store.alerts import AlertFilter, Alerts
from monitor.store.keyset import Window

pytestmark = pytest.mark.reliability

AT = datetime(2026, 11, 29, tzinfo=UTC)
DRIFT = BUILT_IN[0]
VERDICTS = 10_000
LABELS = {"provider": "acme", "model": "smol"}

Chances = dict[Verdict, float]
# An endpoint as noisy as one may be: a run-level drift by chance is twenty times likelier than its stated rate.
NOISE: Chances = {Verdict.OK: 0.798, Verdict.SUSPECT: 0.15, Verdict.INCONCLUSIVE: 0.05, Verdict.DRIFT: 0.002}
# A changed one that is missed now and then.
CHANGED: Chances = {Verdict.DRIFT: 0.95, Verdict.SUSPECT: 0.02, Verdict.INCONCLUSIVE: 0.01, Verdict.OK: 0.02}


def checks(seed: int, count: int, chances_at: Sequence[tuple[int, Chances]]) -> Iterator[Verdicted]:
    """Scheduled checks, each drift with the check that repeats it on fresh prompts. `chances_at`: from which check on
    which chances hold."""
    random = Random(seed)
    for number in range(count):
        chances = next(chances for start, chances in reversed(chances_at) if number >= start)

        def drawn(chances: Chances = chances) -> Verdict:
            return random.choices(list(chances), list(chances.values()))[0]

        at = AT + number * DRIFT.every
        verdict = drawn()
        yield Verdicted(f"chk_{number}", at, "logprobs", verdict)
        if verdict is Verdict.DRIFT:
            yield Verdicted(f"chk_{number}_confirm", at + timedelta(minutes=2), "logprobs", drawn(), fresh=True)


def notices(signals: Sequence[Verdicted]) -> list[tuple[EventKind, datetime]]:
    episodes = replay(signals, DRIFT, LABELS, signals[-1].at)
    return [(event.kind, event.at) for episode in episodes for event in episode.notices]


@pytest.mark.parametrize("seed", range(5))
def test_r11_each_true_episode_is_told_once_when_it_fires_and_once_when_it_is_over(seed: int) -> None:
    steps = [(2_000, 2_300), (5_000, 5_040), (8_000, 9_000)]
    chances = [(0, NOISE)] + [part for start, end in steps for part in ((start, CHANGED), (end, NOISE))]

    told = notices(list(checks(seed, VERDICTS, chances)))

    assert [kind for kind, _ in told] == [EventKind.FIRED, EventKind.RESOLVED] * len(steps)
    for (start, end), (_, fired), (_, resolved) in zip(steps, told[::2], told[1::2], strict=True):
        assert AT + start * DRIFT.every <= fired <= AT + (start + 5) * DRIFT.every
        assert AT + end * DRIFT.every <= resolved <= AT + (end + 20) * DRIFT.every


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("share", [0.3, 0.5, 0.7])
def test_r11_an_endpoint_that_flaps_is_heard_of_twice_a_day_at_most(seed: int, share: float) -> None:
    flapping: Chances = {Verdict.DRIFT: share, Verdict.OK: 1 - share}

    told = notices(list(checks(seed, VERDICTS, [(0, flapping)])))

    first = next(at for kind, at in told if kind is EventKind.FLAPPING)
    days = Counter((at - first) // timedelta(days=1) for _, at in told if at >= first)
    assert len(told) <= 2 * (VERDICTS * DRIFT.every / timedelta(days=1))
    assert max(days.values()) <= 2


@pytest.mark.parametrize(("bad", "good"), [(2, 3), (7, 7), (10, 3), (1, 1)])
def test_r11_a_steady_beat_is_heard_of_twice_a_day_at_most(bad: int, good: int) -> None:
    beat = [Verdict.DRIFT] * bad + [Verdict.OK] * good
    signals = [
        Verdicted(f"chk_{number}", AT + number * DRIFT.every, "logprobs", beat[number % len(beat)], fresh=True)
        for number in range(VERDICTS)
    ]

    told = notices(signals)

    first = next((at for kind, at in told if kind is EventKind.FLAPPING), AT)
    days = Counter((at - first) // timedelta(days=1) for _, at in told if at >= first)
    assert max(days.values(), default=0) <= 2


def test_r11_the_database_tells_what_the_replay_tells(database_url: str) -> None:
    signals = list(checks(1, 600, [(0, NOISE), (200, CHANGED), (400, NOISE)]))
    with Store.open(database_url, at=AT) as store:
        endpoint = store.ensure_endpoint(EndpointIdentity("acme", "https://api.acme.test/v1", "smol", "smol"), at=AT)
        alerts = Alerts(store.sessions)
        for signal in signals:
            alerts.apply(endpoint.id, LABELS, [signal, signal], BUILT_IN, at=signal.at)

        kept = [
            (event.kind, event.at)
            for alert in reversed(alerts.list(Window(500), AlertFilter(rule="drift")).items)
            for event in alerts.events(alert.id)
            if event.notice
        ]

    assert kept == notices(signals)
    assert [kind for kind, _ in kept] == ["fired", "resolved"]

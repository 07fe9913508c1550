"""What is read of streams to be shown: how they stand, since when, and page by page what they were given."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import update

from monitor.drift.decision import Event, Level
from monitor.drift.evidence import Combining, Factors, Inapplicable, Null, Tier
from monitor.drift.onset import Onset
from monitor.store import EndpointRecord, Store
from monitor.store.keyset import Window
from monitor.store.series import Span
from monitor.store.stream_pages import LookFilter, StreamEvidenceFilter, path
from monitor.store.stream_view_records import EndpointView
from monitor.store.stream_views import StreamViews
from monitor.store.streams import Streams
from monitor.store.tables import StreamState
from monitor.store.vocabulary import EpochEnd, StreamLevel, StreamTier
from tests.dashboards.statements import statements
from tests.monitor.store.material import AT, identity, later
from tests.monitor.store.streamed import NOON, STACK, begun, exact, fed, fed_each, hourly, key, levelled, plan, said

HOUR = 3_600.0
# Of these p the fourth makes a suspicion, and none a drift.
SUSPECTED = (3e-3,) * 4
DAY_SPAN = Span(AT - timedelta(hours=1), AT + timedelta(days=1))


def view(store: Store, endpoint: EndpointRecord) -> EndpointView:
    found = StreamViews(store.sessions).view(endpoint.id)
    assert found is not None
    return found


def test_without_an_epoch_there_is_nothing_to_see(store: Store, endpoint: EndpointRecord) -> None:
    views = StreamViews(store.sessions)
    assert views.view(endpoint.id) is None
    assert views.path(endpoint.id, DAY_SPAN).points == ()
    assert views.worths() == []


def test_each_stream_is_told_with_what_it_was_given(store: Store, endpoint: EndpointRecord) -> None:
    first, silent = key(endpoint), key(endpoint, Tier.BORDER)
    streams = Streams(store.sessions)
    streams.open(endpoint.id, plan([first, silent]), at=AT)
    fed(store, endpoint, said(first, exact(0.5)), said(silent, Inapplicable("[b]too few")))
    last = replace(said(first, exact(0.4), 1), reasons=("a later reason",))
    fed(store, endpoint, last, minutes=1)

    found = view(store, endpoint)

    assert repr(found.now) == repr(streams.states(endpoint.id))
    border, draws = found.streams
    assert (draws.rounds, draws.answers, draws.tokens) == (2, 16, 400)
    assert draws.last is not None
    assert (draws.last.sequence, draws.last.reasons) == (3, ("a later reason",))
    assert draws.last.value == draws.state.value
    assert (border.rounds, border.state.why_not) == (1, "[b]too few")
    assert border.weight + draws.weight == pytest.approx(1.0)
    assert border.weight == pytest.approx(8.0 / 9.0)
    assert found.last is not None
    assert (found.last.at, found.last.worth) == (later(1), found.now.worth)
    assert (found.rounds, found.news, found.onset) == (3, (), None)


def test_a_stream_that_was_given_nothing_is_there(store: Store, endpoint: EndpointRecord) -> None:
    Streams(store.sessions).open(endpoint.id, plan([key(endpoint)]), at=AT)
    (found,) = view(store, endpoint).streams
    assert (found.rounds, found.last, found.onset) == (0, None, None)
    assert view(store, endpoint).last is None


def test_a_drift_is_told_with_when_it_began(store: Store, endpoint: EndpointRecord) -> None:
    watched = levelled(store, endpoint)
    added = hourly(store, endpoint, watched, [0.1] * 6 + [1.0] * 12)
    proof = next(place for place, one in enumerate(added) if Event.DRIFTED in one.events)

    found = view(store, endpoint)

    assert found.now.state.level is Level.DRIFT
    (stream,) = found.streams
    assert found.onset is not None
    assert stream.onset is not None
    assert found.onset.first == stream.onset.first == NOON + 6 * HOUR + 1.0
    assert found.onset.after is not None
    assert NOON + HOUR < found.onset.after <= NOON + 5 * HOUR + 1.0
    assert found.onset.first <= found.onset.until <= NOON + 9 * HOUR
    # The stream's last round is a second older than the look.
    assert (found.onset.detected, stream.onset.detected) == (NOON + proof * HOUR, NOON + proof * HOUR + 1.0)
    assert [event for look in found.news for event in look.events] == ["shown", "suspected", "drifted"]


def test_what_came_after_the_proof_does_not_move_the_onset(store: Store, endpoint: EndpointRecord) -> None:
    watched = levelled(store, endpoint)
    hourly(store, endpoint, watched, [0.1] * 6 + [1.0] * 12)
    before = view(store, endpoint).onset
    hourly(store, endpoint, watched, [0.1] * 24, first=18)
    assert view(store, endpoint).onset == before
    assert isinstance(before, Onset)


def test_a_quiet_stream_has_no_onset(store: Store, endpoint: EndpointRecord) -> None:
    watched = levelled(store, endpoint)
    hourly(store, endpoint, watched, [0.1, 0.2] * 5 + [0.6])
    found = view(store, endpoint)
    assert found.onset is None
    assert [one.onset for one in found.streams] == [None]


def test_an_open_escalation_is_among_the_streams(store: Store, endpoint: EndpointRecord) -> None:
    watched, asked = key(endpoint), key(endpoint, Tier.GREEDY, "alone-1")
    Streams(store.sessions).open(endpoint.id, plan([watched], [asked]), at=AT)
    fed_each(store, endpoint, watched, SUSPECTED)

    found = view(store, endpoint)
    assert [(one.state.key, one.escalation, one.weight) for one in found.streams] == [
        (watched, 0, 1.0),
        (asked, 1, 1.0),
    ]

    Streams(store.sessions).close_escalation(endpoint.id, at=later(10))
    assert [one.state.key for one in view(store, endpoint).streams] == [watched]


def test_states_of_another_form_are_shown_and_stay_as_they_are(store: Store, endpoint: EndpointRecord) -> None:
    watched = key(endpoint)
    Streams(store.sessions).open(endpoint.id, plan([watched]), at=AT)
    fed_each(store, endpoint, watched, [0.01])
    known = view(store, endpoint)
    with store.sessions.write() as session:
        session.execute(update(StreamState).values(version=99, state='{"version":99}'))
    assert repr(view(store, endpoint)) == repr(known)


def test_more_looks_are_not_more_statements(store: Store, endpoint: EndpointRecord) -> None:
    """A page does not compute anything anew."""
    watched = key(endpoint)
    Streams(store.sessions).open(endpoint.id, plan([watched]), at=AT)
    fed_each(store, endpoint, watched, [0.5] * 2)
    with statements() as few:
        view(store, endpoint)
    fed_each(store, endpoint, watched, [0.5] * 12)
    with statements() as many:
        view(store, endpoint)
    assert len(many) == len(few)


def test_the_path_has_a_point_a_look(store: Store, endpoint: EndpointRecord) -> None:
    watched = key(endpoint)
    streams = Streams(store.sessions)
    streams.open(endpoint.id, plan([watched]), at=AT)
    added = fed_each(store, endpoint, watched, [0.03] * 12)
    streams.expire(endpoint.id, at=later(30))
    fed(store, endpoint, said(watched, exact(0.5), 31), minutes=31)

    found = StreamViews(store.sessions).path(endpoint.id, DAY_SPAN)

    assert [point.at for point in found.points] == [*(later(minutes) for minutes in range(12)), later(31)]
    assert [point.epoch for point in found.points] == [0] * 12 + [1]
    assert [point.events for point in found.points][:12] == [tuple(one.events) for one in added]
    assert found.points[11].level is StreamLevel.DRIFT
    assert found.points[12].worth < 2.0 < found.points[11].worth
    assert (found.looks, [epoch.number for epoch in found.epochs]) == (13, [0, 1])
    half = StreamViews(store.sessions).path(endpoint.id, Span(later(5), later(8)))
    assert [point.at for point in half.points] == [later(5), later(6), later(7)]
    assert [epoch.number for epoch in half.epochs] == [0]


def test_a_long_path_is_thinned_to_its_heights(store: Store, endpoint: EndpointRecord) -> None:
    watched = key(endpoint)
    Streams(store.sessions).open(endpoint.id, plan([watched]), at=AT)
    fed_each(store, endpoint, watched, [0.9, 0.03, 0.9, 0.9, 0.02, 0.9, 0.9, 0.9, 0.01, 0.9, 0.9, 0.9])
    with store.sessions.read() as session:
        whole = path(session, endpoint.id, Span(AT, later(12)))
        thin = path(session, endpoint.id, Span(AT, later(12)), most=3)

    assert len(whole.points) == 12
    worths = {point.at: point.worth for point in whole.points}
    heights = {
        max((at for at in worths if low <= at < low + timedelta(minutes=4)), key=worths.__getitem__)
        for low in (later(0), later(4), later(8))
    }
    eventful = {point.at for point in whole.points if point.events}
    assert {point.at for point in thin.points} == heights | eventful | {later(11)}
    assert thin.looks == 12


def test_looks_come_page_by_page(store: Store, endpoint: EndpointRecord) -> None:
    watched = key(endpoint)
    streams, views = Streams(store.sessions), StreamViews(store.sessions)
    streams.open(endpoint.id, plan([watched]), at=AT)
    added = fed_each(store, endpoint, watched, [0.03] * 10)
    streams.expire(endpoint.id, at=later(10))
    fed(store, endpoint, said(watched, exact(0.5), 11), minutes=11)
    wanted = LookFilter(endpoint.id)

    seen, after = [], None
    while True:
        page = views.looks(wanted, Window(3, after))
        seen += [(look.epoch, look.at) for look in page.items]
        if page.next is None:
            break
        after = page.next

    assert seen == [(1, later(11)), *((0, later(minutes)) for minutes in reversed(range(10)))]
    assert len(views.looks(replace(wanted, epoch=1), Window(50)).items) == 1
    between = replace(wanted, since=later(2), until=later(4))
    assert [look.at for look in views.looks(between, Window(50)).items] == [later(3), later(2)]
    came = views.looks(replace(wanted, news=True), Window(50)).items
    assert [look.events for look in came] == [one.events for one in added[::-1] if one.events]
    assert len(came) >= 1


def test_epochs_come_with_why_they_ended(store: Store, endpoint: EndpointRecord) -> None:
    streams, views = Streams(store.sessions), StreamViews(store.sessions)
    streams.open(endpoint.id, plan([key(endpoint)]), at=AT)
    streams.expire(endpoint.id, at=later(1))
    streams.accept(endpoint.id, {}, note="as announced", actor="ada", at=later(2))

    first = views.epochs(endpoint.id, Window(2))
    second = views.epochs(endpoint.id, Window(2, first.next))

    assert [(one.number, one.why, one.note) for one in (*first.items, *second.items)] == [
        (2, None, None),
        (1, EpochEnd.ACCEPTED, "as announced"),
        (0, EpochEnd.EXPIRED, None),
    ]
    assert second.next is None


def test_the_evidence_of_an_epoch_comes_page_by_page(store: Store, endpoint: EndpointRecord) -> None:
    first, second = key(endpoint), key(endpoint, probe_set="draws-2")
    streams, views = Streams(store.sessions), StreamViews(store.sessions)
    streams.open(endpoint.id, plan([first, second]), at=AT)
    infinite = Factors((float("inf"), 0.5), Null.REFERENCE, Combining.MULTIPLY)
    fed(store, endpoint, said(first, exact(0.5)), said(second, infinite))
    fed(store, endpoint, said(first, exact(0.4), 1), minutes=1)
    streams.expire(endpoint.id, at=later(5))
    fed(store, endpoint, said(first, exact(0.3), 6), minutes=6)
    other = store.ensure_endpoint(identity("umbrella"), at=AT)
    streams.open(other.id, plan([key(other)]), at=AT)
    fed(store, other, said(key(other), exact(0.9)))

    wanted = StreamEvidenceFilter(endpoint.id, 0)
    page = views.evidence(wanted, Window(2))
    rest = views.evidence(wanted, Window(2, page.next))

    assert [one.sequence for one in (*page.items, *rest.items)] == [3, 2, 1]
    assert [one.sequence for one in views.evidence(replace(wanted, epoch=1), Window(9)).items] == [4]
    (drawn,) = views.evidence(replace(wanted, tier=StreamTier.SAMPLING, probe_set="draws-2"), Window(9)).items
    assert drawn.says == {"kind": "factors", "factors": ["inf", 0.5], "null": "reference", "combining": "multiply"}
    assert (drawn.at.timestamp(), drawn.n, drawn.reasons) == (pytest.approx(NOON, abs=1.0), 8, ("a reason",))
    assert views.evidence(replace(wanted, tier=StreamTier.PROTOCOL), Window(9)).items == ()


def test_every_watched_endpoint_has_an_e(store: Store, endpoint: EndpointRecord) -> None:
    other = store.ensure_endpoint(identity("umbrella"), at=AT)
    streams = Streams(store.sessions)
    for each in (endpoint, other):
        streams.open(each.id, plan([key(each)]), at=AT)
    fed_each(store, endpoint, key(endpoint), [0.03] * 12)

    found = {one.provider: one for one in StreamViews(store.sessions).worths()}

    acme, umbrella = found["acme"], found["umbrella"]
    assert acme.worth == pytest.approx(view(store, endpoint).now.worth)
    assert (acme.level, acme.held, acme.at) == (StreamLevel.DRIFT, False, later(11))
    assert (umbrella.worth, umbrella.level, umbrella.at) == (1.0, StreamLevel.QUIET, None)
    streams.expire(endpoint.id, at=later(20))
    assert {one.worth for one in StreamViews(store.sessions).worths()} == {1.0}


def test_that_our_side_moved_is_known_of_an_e(store: Store, endpoint: EndpointRecord) -> None:
    watched = key(endpoint)
    streams = Streams(store.sessions)
    streams.open(endpoint.id, plan([watched]), at=AT)
    for minutes in range(12):
        evidence = [said(watched, exact(0.03), minutes)]
        streams.add(begun(store, endpoint, minutes), evidence, stack=STACK, at=later(minutes), our_side="ours moved")
    (found,) = StreamViews(store.sessions).worths()
    assert (found.held, found.level) == (True, StreamLevel.SUSPECT)

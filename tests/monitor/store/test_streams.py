"""What rounds add up to, in the database: evidence, looks, escalations and epochs."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import func, select

from monitor.drift.candidates import Hypotheses
from monitor.drift.decision import Event, Level
from monitor.drift.endpoint_streams import EndpointStreams
from monitor.drift.evidence import (
    Combining,
    Evidence,
    Factors,
    Inapplicable,
    LogLikelihoods,
    Null,
    Scores,
    Statement,
    StreamKey,
    Tier,
)
from monitor.drift.levels import DAY
from monitor.drift.score_stream import Round, StreamRule
from monitor.drift.streams import Epoch, StreamState, fold
from monitor.errors import EvidenceRefusedError, StorageError, UsageError
from monitor.store import EndpointRecord, Store, retention
from monitor.store.retention import Retention
from monitor.store.stream_evidence import LONGEST_REASON, MOST_REASONS
from monitor.store.stream_records import EpochPlan
from monitor.store.streams import Streams
from monitor.store.tables import AuditEntry, ChangeEvent, EndpointLook, StreamEvidence, Table
from monitor.store.vocabulary import ChangeKind, EpochEnd, StreamLevel, StreamTier
from tests.monitor.store.material import AT, identity, later, sample
from tests.monitor.store.streamed import (
    NOON,
    RULE,
    STACK,
    baseline,
    begun,
    exact,
    fed,
    fed_each,
    key,
    plan,
    said,
    scored,
)

MONTH = 30 * 24 * 60
# What another stack of ours makes of a lawful 0.2, for so many hours.
SEEN_OTHERWISE, HOURS = 0.5, 36
# Of these p the fourth makes a suspicion, and none a drift.
SUSPECTED = (3e-3,) * 4


def rows(store: Store, table: type[Table]) -> int:
    with store.sessions.read() as session:
        return session.scalars(select(func.count()).select_from(table)).one()


def suspected(store: Store, endpoint: EndpointRecord) -> tuple[StreamKey, StreamKey]:
    """An endpoint of one stream, whose suspicion has opened an escalation of another one."""
    watched, asked = key(endpoint), key(endpoint, Tier.GREEDY, "alone-1")
    Streams(store.sessions).open(endpoint.id, plan([watched], [asked]), at=AT)
    fed_each(store, endpoint, watched, SUSPECTED)
    return watched, asked


def test_evidence_is_folded_looked_at_and_kept(store: Store, endpoint: EndpointRecord) -> None:
    streams, first, second = Streams(store.sessions), key(endpoint), key(endpoint, Tier.LOGPROBS, "anchors-1")
    opened = streams.open(endpoint.id, plan([first, second]), at=AT)
    run_id, evidence = begun(store, endpoint), [said(first, exact(0.01)), said(second, Scores((0.1, 0.25)))]

    added = streams.add(run_id, evidence, stack=STACK, at=later(1))

    by_hand, look = opened.after(evidence[0]).after(evidence[1]).looked(later(1).timestamp())
    assert (added.sequences, added.events) == ((1, 2), look.events)
    assert repr(added.streams) == repr(by_hand) == repr(streams.states(endpoint.id))
    with store.sessions.read() as session:
        kept = session.scalars(select(StreamEvidence).order_by(StreamEvidence.sequence)).all()
        (looked,) = session.scalars(select(EndpointLook))
    assert [(row.run_id, row.at, row.n, row.tokens, row.reasons) for row in kept] == [
        (run_id, one.at, 8, 200, ["a reason"]) for one in evidence
    ]
    assert [row.value for row in kept] == [state.value for state in (by_hand.streams[first], by_hand.streams[second])]
    assert (looked.level, looked.worth, looked.sequence) == ("quiet", look.worth, 2)


def test_a_run_counts_once_for_each_stream(store: Store, endpoint: EndpointRecord) -> None:
    streams, first, second = Streams(store.sessions), key(endpoint), key(endpoint, probe_set="draws-2")
    streams.open(endpoint.id, plan([first, second]), at=AT)
    run_id = begun(store, endpoint)
    once = streams.add(run_id, [said(first, exact(0.01))], stack=STACK, at=AT)

    again = streams.add(run_id, [said(first, exact(1e-9))], stack=STACK, at=later(1))
    more = streams.add(run_id, [said(first, exact(1e-9)), said(second, exact(0.5))], stack=STACK, at=later(2))

    assert (again.sequences, again.events) == ((), ())
    assert repr(again.streams) == repr(once.streams)
    assert more.sequences == (2,)
    assert more.streams.streams[first] == once.streams.streams[first]
    assert (rows(store, StreamEvidence), rows(store, EndpointLook)) == (2, 2)


def test_a_run_that_was_added_before_its_epoch_was_closed_counts_once(store: Store, endpoint: EndpointRecord) -> None:
    streams, watched = Streams(store.sessions), key(endpoint)
    streams.open(endpoint.id, plan([watched]), at=AT)
    run_id = begun(store, endpoint)
    streams.add(run_id, [said(watched, exact(0.01))], stack=STACK, at=AT)
    fresh = streams.change_stack(endpoint.id, plan([watched], stack="stack-2"), {}, at=later(1))

    # Nor does it matter which stack found it then.
    again = streams.add(run_id, [said(watched, exact(0.01))], stack=STACK, at=later(2))

    assert again.sequences == ()
    assert repr(again.streams) == repr(fresh)


def test_an_endpoint_is_shown_suspected_and_drifted(store: Store, endpoint: EndpointRecord) -> None:
    watched = key(endpoint)
    Streams(store.sessions).open(endpoint.id, plan([watched]), at=AT)

    added = fed_each(store, endpoint, watched, [0.03] * 12)

    assert [event for one in added for event in one.events] == [Event.SHOWN, Event.SUSPECTED, Event.DRIFTED]
    with store.sessions.read() as session:
        looks = session.execute(select(EndpointLook.level, EndpointLook.events).order_by(EndpointLook.id)).all()
    assert [event for _, events in looks for event in events] == ["shown", "suspected", "drifted"]
    assert looks[-1][0] == "drift"


def test_an_escalation_is_fed_apart_and_proves(store: Store, endpoint: EndpointRecord) -> None:
    streams = Streams(store.sessions)
    watched, asked = suspected(store, endpoint)
    before = streams.states(endpoint.id)
    assert list(before.escalation.streams) == [asked]

    events: list[Event] = []
    for minutes in range(10, 14):
        run_id = begun(store, endpoint, minutes)
        added = streams.add_escalated(run_id, [said(asked, exact(1e-4), minutes)], stack=STACK, at=later(minutes))
        events += added.events

    assert events == [Event.DRIFTED]
    assert added.streams.streams[watched] == before.streams[watched]
    assert repr(streams.states(endpoint.id)) == repr(added.streams)


def test_an_escalation_is_closed_and_the_next_begins_anew(store: Store, endpoint: EndpointRecord) -> None:
    streams = Streams(store.sessions)
    watched, asked = suspected(store, endpoint)
    lost = streams.add_escalated(begun(store, endpoint, 9), [said(asked, exact(0.9), 9)], stack=STACK, at=later(9))

    over = streams.close_escalation(endpoint.id, at=later(10))

    assert (over.state.staked, dict(over.escalation.streams)) == (0.0, {})
    assert over.worth == pytest.approx(lost.streams.worth)
    assert repr(streams.states(endpoint.id)) == repr(over)
    for refused in (
        lambda: streams.close_escalation(endpoint.id, at=later(11)),
        lambda: streams.add_escalated(begun(store, endpoint), [said(asked, exact(0.5))], stack=STACK, at=later(11)),
    ):
        with pytest.raises(EvidenceRefusedError, match="escalation"):
            refused()
    fed(store, endpoint, said(watched, exact(1.0), 12), minutes=12)
    minutes = 13
    while streams.states(endpoint.id).state.level is not Level.QUIET:
        fed(store, endpoint, said(watched, exact(1.0), minutes), minutes=minutes)
        minutes += 1
    while not streams.states(endpoint.id).escalation.streams:
        fed(store, endpoint, said(watched, exact(0.01), minutes), minutes=minutes)
        minutes += 1
    again = streams.states(endpoint.id)
    assert (again.escalation.number, again.escalation.value) == (2, 1.0)


def test_what_our_side_moved_is_held(store: Store, endpoint: EndpointRecord) -> None:
    streams, watched = Streams(store.sessions), key(endpoint)
    streams.open(endpoint.id, plan([watched]), at=AT)
    for minutes in range(6):
        run_id = begun(store, endpoint, minutes)
        evidence = [said(watched, exact(3e-3), minutes)]
        added = streams.add(run_id, evidence, stack=STACK, at=later(minutes), our_side="our side moved: another print")
    assert added.streams.state.level is Level.SUSPECT
    assert added.streams.state.held == "our side moved: another print"
    assert streams.states(endpoint.id).state == added.streams.state
    assert fed(store, endpoint, said(watched, exact(0.5), 7), minutes=7).events == (Event.DRIFTED,)


def test_what_an_epoch_is_not_for_is_refused_and_leaves_nothing(store: Store, endpoint: EndpointRecord) -> None:
    streams, watched, other = Streams(store.sessions), key(endpoint), store.ensure_endpoint(identity("umbrella"), at=AT)
    run_id = begun(store, endpoint)
    fine = said(watched, exact(0.5))
    with pytest.raises(EvidenceRefusedError, match="No epoch of endpoint"):
        streams.add(run_id, [fine], stack=STACK, at=AT)
    streams.open(endpoint.id, plan([watched, key(endpoint, probe_set="draws-2")]), at=AT)

    unknown = said(key(endpoint, probe_set="draws-9"), exact(0.5))
    refused = {
        "Evidence of stack stack-2 cannot be added": ([fine], "stack-2"),
        "T4 draws-9 is not among the streams of epoch 0": ([fine, unknown], STACK),
        "of another one's streams": ([fine, said(key(other), exact(0.5))], STACK),
        "or twice of one": ([fine, fine], STACK),
    }
    for why, (evidence, stack) in refused.items():
        with pytest.raises(EvidenceRefusedError, match=why):
            streams.add(run_id, evidence, stack=stack, at=AT)
    with pytest.raises(StorageError, match="of the time inf"):
        streams.add(run_id, [replace(fine, at=float("inf"))], stack=STACK, at=AT)
    with pytest.raises(UsageError, match="There is no run run_none"):
        streams.add("run_none", [fine], stack=STACK, at=AT)
    assert (rows(store, StreamEvidence), rows(store, EndpointLook)) == (0, 0)
    streams.add(run_id, [fine], stack=STACK, at=AT)
    with pytest.raises(EvidenceRefusedError, match="PValueProcess was given Scores"):
        fed(store, endpoint, said(watched, Scores((0.5,)), 1))
    assert rows(store, StreamEvidence) == 1


def test_one_epoch_is_open_and_watches_the_endpoints_own_streams(store: Store, endpoint: EndpointRecord) -> None:
    streams, other = Streams(store.sessions), store.ensure_endpoint(identity("umbrella"), at=AT)
    for bad in (plan([]), plan([key(other)]), plan([key(endpoint)], [key(other)])):
        with pytest.raises(EvidenceRefusedError, match="cannot watch"):
            streams.open(endpoint.id, bad, at=AT)
    with pytest.raises(StorageError, match="no endpoint ep_none"):
        streams.open("ep_none", plan([key(endpoint)]), at=AT)
    streams.open(endpoint.id, plan([key(endpoint)]), at=AT)
    with pytest.raises(EvidenceRefusedError, match="has an epoch already"):
        streams.open(endpoint.id, plan([key(endpoint)]), at=AT)
    with pytest.raises(EvidenceRefusedError, match="No epoch of endpoint"):
        streams.states(other.id)
    assert [one.number for one in streams.epochs(endpoint.id)] == [0]


def levelled(store: Store, endpoint: EndpointRecord) -> tuple[StreamKey, EndpointStreams]:
    """A stream of scores with levels from fourteen days before today."""
    watched = key(endpoint, Tier.LOGPROBS, "anchors-1")
    streams = Streams(store.sessions)
    streams.open(endpoint.id, plan([watched], stack="stack-0"), at=later(-60))
    return watched, streams.change_stack(endpoint.id, plan([watched]), {watched: baseline()}, at=AT)


def test_a_first_epoch_may_have_a_baseline(store: Store, endpoint: EndpointRecord) -> None:
    watched = key(endpoint, Tier.LOGPROBS, "anchors-1")
    opened = Streams(store.sessions).open(endpoint.id, plan([watched]), baselines={watched: baseline()}, at=AT)
    _, by_hand = levelled(store, store.ensure_endpoint(identity("umbrella"), at=AT))
    (found,), (other,) = opened.streams.values(), by_hand.streams.values()
    assert found.calibrated
    assert found.process == other.process


def hours(store: Store, endpoint: EndpointRecord, stream: StreamKey, score: float, count: int) -> list[Event]:
    """Rounds of so much from now on, an hour apart; what came of them."""
    events: list[Event] = []
    for hour in range(count):
        one = scored(stream, Round(NOON + 3_600.0 * hour + 1.0, score))
        events += fed(store, endpoint, one, minutes=60 * hour).events
    return events


def test_an_epoch_whose_time_is_over_is_followed_by_one_with_the_same_levels(
    store: Store, endpoint: EndpointRecord
) -> None:
    streams = Streams(store.sessions)
    watched, _ = levelled(store, endpoint)
    assert hours(store, endpoint, watched, 1.0, 12)[-1] is Event.DRIFTED

    last, first = streams.states(endpoint.id).streams[watched], scored(watched, Round(NOON + 30 * DAY, 0.1))
    added = fed(store, endpoint, first, minutes=MONTH)

    assert added.streams.epoch == Epoch(2, NOON + 30 * DAY, STACK)
    assert added.streams.state.level is Level.QUIET
    assert added.streams.streams[watched] == last.renewed(added.streams.epoch).after(first)
    assert added.streams.worth == pytest.approx(1.0, abs=0.1)
    _, closed, following = streams.epochs(endpoint.id)
    assert (closed.why, closed.closed_at, following.closed_at) == (EpochEnd.EXPIRED, later(MONTH), None)


def test_what_another_stack_of_ours_sees_otherwise_is_no_drift(store: Store, endpoint: EndpointRecord) -> None:
    streams = Streams(store.sessions)
    watched, _ = levelled(store, endpoint)
    assert hours(store, endpoint, watched, 0.1, 3) == []
    rescored = [Round(one.at, 0.4 + one.score / 2.0) for one in baseline()]

    upgraded = streams.change_stack(endpoint.id, plan([watched], stack="stack-2"), {watched: rescored}, at=later(180))

    assert (upgraded.epoch.number, upgraded.worth) == (2, 1.0)
    events: list[Event] = []
    for hour in range(3, HOURS):
        run_id, one = begun(store, endpoint, 60 * hour), scored(watched, Round(NOON + 3_600.0 * hour, SEEN_OTHERWISE))
        with pytest.raises(EvidenceRefusedError, match="of stack stack-1 cannot be added"):
            streams.add(run_id, [one], stack=STACK, at=later(60 * hour))
        events += streams.add(run_id, [one], stack="stack-2", at=later(60 * hour)).events
    assert events == []
    with store.sessions.read() as session:
        told = session.scalars(select(ChangeEvent.text).where(ChangeEvent.kind == ChangeKind.ENGINE)).all()
    assert told == ["our stack: stack-0 before, stack-1 now", "our stack: stack-1 before, stack-2 now"]


def test_by_the_old_levels_the_same_rounds_would_be_drift(store: Store, endpoint: EndpointRecord) -> None:
    watched, _ = levelled(store, endpoint)
    assert Event.SUSPECTED in hours(store, endpoint, watched, SEEN_OTHERWISE, HOURS)


def test_levels_of_one_stack_are_not_gone_on_with_by_another(store: Store, endpoint: EndpointRecord) -> None:
    streams = Streams(store.sessions)
    watched, _ = levelled(store, endpoint)
    with pytest.raises(EvidenceRefusedError, match="cannot be gone on with by stack stack-2"):
        streams.replan(endpoint.id, plan([watched], stack="stack-2"), at=later(1))
    with pytest.raises(EvidenceRefusedError, match="is stack-1 already"):
        streams.change_stack(endpoint.id, plan([watched]), {}, at=later(1))


def test_a_person_accepts_what_an_endpoint_is_now(store: Store, endpoint: EndpointRecord) -> None:
    streams = Streams(store.sessions)
    watched, _ = levelled(store, endpoint)
    assert hours(store, endpoint, watched, 1.0, 12)[-1] is Event.DRIFTED
    with pytest.raises(UsageError, match="only with a note"):
        streams.accept(endpoint.id, {}, note=" ", actor="ada", at=later(800))
    moved = [Round(one.at, 0.3 + one.score / 4.0) for one in baseline()]

    accepted = streams.accept(endpoint.id, {watched: moved}, note="they announced it ", actor="ada", at=later(800))

    assert (accepted.state.level, accepted.worth) == (Level.QUIET, 1.0)
    assert accepted.streams[watched].calibrated
    one = scored(watched, Round(NOON + 3_600.0 * 14, 0.32))
    assert fed(store, endpoint, one, minutes=60 * 14).events == ()
    closed = streams.epochs(endpoint.id)[1]
    assert (closed.why, closed.note, closed.closed_by) == (EpochEnd.ACCEPTED, "they announced it", "ada")
    with store.sessions.read() as session:
        told = session.scalars(select(ChangeEvent.text).where(ChangeEvent.kind == ChangeKind.BASELINE)).all()
        (audited,) = session.scalars(select(AuditEntry))
    # The first one for ever is that of the epoch before.
    assert [text.partition(" (")[0] for text in told] == [
        "T1 anchors-1: it has moved since the first baseline",
        "epoch 1 closed: they announced it",
    ]
    assert (audited.actor, audited.action, audited.object) == ("ada", "epoch.accept", endpoint.id)


def test_the_rounds_since_a_change_are_what_a_new_baseline_is_of(store: Store, endpoint: EndpointRecord) -> None:
    streams = Streams(store.sessions)
    watched, _ = levelled(store, endpoint)
    hours(store, endpoint, watched, 0.25, 4)
    # One that comes late is put in its place.
    fed(store, endpoint, scored(watched, Round(NOON + 1_800.0, 0.5)), minutes=300)

    found = streams.rounds(endpoint.id, later(20))

    assert found == {watched: (Round(NOON + 1_800.0, 0.5), *(Round(NOON + 3_600.0 * h + 1.0, 0.25) for h in (1, 2, 3)))}


def test_other_streams_are_watched_from_the_next_epoch_on(store: Store, endpoint: EndpointRecord) -> None:
    streams = Streams(store.sessions)
    watched, opened = levelled(store, endpoint)
    fresh = key(endpoint, Tier.GREEDY, "alone-2")

    both = streams.replan(endpoint.id, plan([watched, fresh]), at=later(1))
    other_rule = EpochPlan(STACK, {watched: replace(RULE, rounds_a_day=48), fresh: RULE})
    again = streams.replan(endpoint.id, other_rule, at=later(2))

    assert both.streams[watched] == opened.streams[watched].renewed(both.epoch)
    assert both.streams[fresh].process is None
    # Levels for another rule are others.
    assert again.streams[watched] == StreamState(watched, replace(RULE, rounds_a_day=48), again.epoch)
    assert [one.why for one in streams.epochs(endpoint.id)][1:] == [EpochEnd.REPLANNED, EpochEnd.REPLANNED, None]
    assert repr(streams.states(endpoint.id)) == repr(again)


def test_states_follow_evidence_over_any_kind_of_stream(store: Store, endpoint: EndpointRecord) -> None:
    says: dict[StreamKey, Statement] = {
        key(endpoint, Tier.PROTOCOL): Inapplicable("no usage is told"),
        key(endpoint, Tier.LOGPROBS): Scores((0.1, 0.3)),
        key(endpoint, Tier.SAMPLING): Factors((float("inf"), 0.5, 1e-300), Null.REFERENCE, Combining.MULTIPLY),
        key(endpoint, Tier.DISTRIBUTION): Factors((0.5, 1.5), Null.EXCHANGEABLE, Combining.AVERAGE),
        key(endpoint, Tier.CAPABILITY): exact(0.3),
        key(endpoint, Tier.GREEDY): LogLikelihoods(
            Hypotheses(("int8", "int4"), ("bf16", "m0"), 100),
            ((-0.1, float("nan"), -0.2, -0.3), (float("-inf"), -1.0, -1.5, -50.0)),
            True,
        ),
    }
    streams = Streams(store.sessions)
    streams.open(endpoint.id, plan(says), at=AT)
    for minutes in range(3):
        fed(store, endpoint, *(said(each, what, minutes) for each, what in says.items()), minutes=minutes)

    found = streams.states(endpoint.id)
    for each, what in says.items():
        alone = StreamState(each, RULE, Epoch(0, NOON, STACK))
        assert repr(found.streams[each]) == repr(fold(alone, [said(each, what, minutes) for minutes in range(3)]))


def test_reasons_are_short_and_hold_no_secret(store: Store, endpoint: EndpointRecord, secret: str) -> None:
    watched, silent = key(endpoint), key(endpoint, Tier.BORDER)
    Streams(store.sessions).open(endpoint.id, plan([watched, silent]), at=AT)
    long = (f"{secret} \x1b[2J" + "x" * 1_000,) * 20
    added = fed(
        store,
        endpoint,
        replace(said(watched, exact(0.5)), reasons=long),
        said(silent, Inapplicable(long[0])),
    )
    with store.sessions.read() as session:
        kept = session.scalars(select(StreamEvidence).order_by(StreamEvidence.sequence)).all()
    assert len(kept[0].reasons) == MOST_REASONS
    texts = [*kept[0].reasons, kept[1].says["reason"], added.streams.streams[silent].inapplicable or ""]
    assert max(map(len, texts)) == LONGEST_REASON
    assert not any(secret in text or "\x1b" in text for text in texts)


def test_evidence_outlives_what_it_was_made_of(store: Store, endpoint: EndpointRecord) -> None:
    streams, watched = Streams(store.sessions), key(endpoint)
    streams.open(endpoint.id, plan([watched]), at=AT)
    run_id = begun(store, endpoint)
    store.add_samples(run_id, [sample("a")], at=AT)
    streams.add(run_id, [said(watched, exact(0.01))], stack=STACK, at=AT)

    kept, long_after = Retention(store.sessions), AT + timedelta(days=4_000)
    for what in (retention.bodies, retention.samples, retention.points, retention.hours, retention.news):
        while kept.prune(what, long_after, long_after):
            pass

    assert store.exchanges(run_id) == []
    assert (rows(store, StreamEvidence), rows(store, EndpointLook)) == (1, 1)
    assert streams.replay(endpoint.id, 0).difference is None


def test_the_shortest_promise_ends_the_epoch(store: Store, endpoint: EndpointRecord) -> None:
    streams, watched, brief = Streams(store.sessions), key(endpoint), key(endpoint, Tier.GREEDY)
    streams.open(endpoint.id, EpochPlan(STACK, {watched: RULE, brief: StreamRule(epoch_days=2)}), at=AT)
    fed(store, endpoint, said(watched, exact(0.5)), minutes=2 * 24 * 60 - 1)
    assert len(streams.epochs(endpoint.id)) == 1
    fed(store, endpoint, said(watched, exact(0.5)), minutes=2 * 24 * 60)
    assert len(streams.epochs(endpoint.id)) == 2


def test_evidence_of_one_stream_is_not_that_of_another_endpoint(store: Store, endpoint: EndpointRecord) -> None:
    streams, other = Streams(store.sessions), store.ensure_endpoint(identity("umbrella"), at=AT)
    for each in (endpoint, other):
        streams.open(each.id, plan([key(each)]), at=AT)
    fed(store, endpoint, said(key(endpoint), exact(1e-6)))
    added = fed(store, other, said(key(other), exact(0.9)))
    assert added.sequences == (1,)
    assert added.streams.worth < 1.0 < streams.states(endpoint.id).worth


def test_a_stream_is_not_told_of_twice_by_a_look(store: Store, endpoint: EndpointRecord) -> None:
    """Evidence that comes while an endpoint is at a level is no news."""
    watched = key(endpoint)
    Streams(store.sessions).open(endpoint.id, plan([watched]), at=AT)
    added = fed_each(store, endpoint, watched, [*SUSPECTED, 0.3, 0.3])
    assert [one.events for one in added[-2:]] == [(), ()]


def test_an_empty_piece_of_evidence_changes_nothing(store: Store, endpoint: EndpointRecord) -> None:
    streams, watched = Streams(store.sessions), key(endpoint)
    opened = streams.open(endpoint.id, plan([watched]), at=AT)
    added = streams.add(begun(store, endpoint), [], stack=STACK, at=AT)
    assert (added.sequences, repr(added.streams)) == ((), repr(opened))
    assert rows(store, EndpointLook) == 0


def test_a_state_is_of_the_evidence_as_it_is_stored(store: Store, endpoint: EndpointRecord) -> None:
    """Whole numbers come back as floats; a state of the ones has another text than one of the others."""
    streams, watched = Streams(store.sessions), key(endpoint)
    streams.open(endpoint.id, plan([watched]), at=AT)
    run_id = begun(store, endpoint)
    streams.add(run_id, [Evidence(watched, int(NOON), exact(1))], stack=STACK, at=AT)
    assert streams.replay(endpoint.id, 0).difference is None


def test_the_words_of_the_database_are_those_of_the_statistics() -> None:
    assert [tier.value for tier in StreamTier] == [tier.value for tier in Tier]
    assert [level.value for level in StreamLevel] == [level.name.lower() for level in Level]

"""Each new baseline of a stream held against its first one for ever: found among its epochs, compared and kept.

The first one's rounds and enrolment are facts of its epoch, which nothing prunes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from monitor.drift.begun import Begun
from monitor.drift.evidence import Scores, StreamKey, Tier
from monitor.drift.fingerprint import Enrolment
from monitor.drift.first_baseline import AgainstFirst, level_move, means_move
from monitor.drift.score_stream import Round, ScoreStream
from monitor.errors import StateVersionError
from monitor.store import enrolments
from monitor.store.changes import log_change
from monitor.store.first_codec import encode_against
from monitor.store.stream_codec import decode_state, rule_of, unpack_rounds
from monitor.store.stream_evidence import statement
from monitor.store.stream_recorded import Recorded
from monitor.store.stream_rows import key_of, places
from monitor.store.tables import EndpointEpoch, Stream, StreamEpoch, StreamEvidence, StreamState
from monitor.store.vocabulary import ChangeKind, StreamTier


def keep_against_first(session: Session, epoch: EndpointEpoch, at: datetime) -> None:
    """Compare the baselines that an epoch is begun with, and enter what has moved into the list of changes."""
    for row, key in places(session, epoch.id):
        found = None if row.escalation else against_first(session, row)
        if found is not None:
            row.against_first = encode_against(found)
            if found.told:
                text = f"{key.tier.value} {key.probe_set}: {found}"
                log_change(session, key.endpoint, ChangeKind.BASELINE, text, at)
    session.flush()


def against_first(session: Session, row: StreamEpoch) -> AgainstFirst | None:
    """A stream's baseline in an epoch, as it was begun, against the first one for ever; None where it has no new one,
    or none came before.

    Levels are compared with the first baseline that was scored by the same stack against the same enrolment, which may
    be the first one ever, scored anew; enrolments with the first one ever. Levels that a stream found within an epoch
    are compared when the next one opens.
    """
    history = _History(session, _steps(session, row))
    return history.against_first()


def first_rounds(session: Session, epoch: EndpointEpoch) -> dict[StreamKey, Sequence[Round]]:
    """Of the streams of an endpoint's last epoch the rounds of the first baseline that each ever had, as they were
    scored then; those that had none are left out."""
    rows = ((row, key) for row, key in places(session, epoch.id) if row.escalation == 0)
    found = {key: _History(session, _steps(session, row)).first_ever() for row, key in rows}
    return {key: rounds for key, rounds in found.items() if rounds}


@dataclass(frozen=True)
class _Step:
    """A stream within one epoch."""

    row: StreamEpoch
    epoch: EndpointEpoch
    key: StreamKey


@dataclass(frozen=True)
class _History:
    """A stream's epochs up to one that was just begun, the first one first."""

    session: Session
    steps: Sequence[_Step]

    def against_first(self) -> AgainstFirst | None:
        row = self.steps[-1].row
        rule = rule_of(row.rule)
        place, rounds = self._new_rounds()
        level = first = None
        if rounds is not None and (first := self._first_rounds(place)) is not None:
            level = level_move(first, rounds, days=rule.days, margin=rule.delta)
        means = began = None
        if (both := self._enrolments()) is not None:
            began, now = both
            means = means_move(began, now)
        if level is None and means is None:
            return None
        return AgainstFirst(
            1 + sum(step.row.against_first is not None for step in self.steps[:-1]),
            level,
            first[-1].at if level is not None and first else None,
            means,
            began.last_at if means is not None and began is not None else None,
        )

    def first_ever(self) -> Sequence[Round] | None:
        every = range(len(self.steps))
        return next((found for at in every if (found := self._first_of(at, len(self.steps)))), None)

    def _enrolments(self) -> tuple[Enrolment, Enrolment] | None:
        """The first one ever and the one that is new with the last epoch, of the stream that tells of them; None where
        there are not both."""
        ids = [self._in_force(place) for place in range(len(self.steps))]
        known, new = [one for one in ids[:-1] if one is not None], ids[-1]
        if not known or new is None or new in known or not _tells_of_enrolments(self.session, self.steps[-1]):
            return None
        first, now = enrolments.read(self.session, known[0]), enrolments.read(self.session, new)
        return None if first is None or now is None else (first, now)

    def _in_force(self, place: int) -> int | None:
        """What its answers were scored against in an epoch; only log-probabilities are scored against an enrolment."""
        step = self.steps[place]
        return step.epoch.enrolment_id if step.key.tier is Tier.LOGPROBS else None

    def _new_rounds(self) -> tuple[int, Sequence[Round] | None]:
        """The baseline that was not compared yet, and in which epoch it is that: the one that the last epoch was begun
        with, or levels found within the one before it, which the last one goes on with."""
        last = len(self.steps) - 1
        row = self.steps[last].row
        if row.baseline is not None:
            return last, unpack_rounds(row.baseline)
        if row.begun is not Begun.RENEWED or last == 0:
            return last, None
        return last - 1, self._own_levels(last - 1)

    def _first_rounds(self, place: int) -> Sequence[Round] | None:
        """Of the first of the epochs before that were scored as this one is; of this one itself, where its stack scored
        the first baseline anew."""
        stack, enrolment = self.steps[place].epoch.stack, self._in_force(place)
        alike = (
            at for at in range(place + 1) if self.steps[at].epoch.stack == stack and self._in_force(at) == enrolment
        )
        return next((found for at in alike if (found := self._first_of(at, place))), None)

    def _first_of(self, place: int, compared: int) -> Sequence[Round] | None:
        blob = self.steps[place].row.first_baseline
        if blob is not None:
            return unpack_rounds(blob)
        return (self._own_levels(place) or self._begun_with(place)) if place < compared else None

    def _begun_with(self, place: int) -> Sequence[Round] | None:
        blob = self.steps[place].row.baseline
        return None if blob is None else unpack_rounds(blob) or None

    def _own_levels(self, place: int) -> Sequence[Round] | None:
        """The rounds from which a stream found levels within an epoch, which is closed by now."""
        span, begun_with = self._span(place), self._begun_with(place)
        renewed = place > 0 and self.steps[place].row.begun is Begun.RENEWED
        known = self._span(place - 1) if renewed else _ends(begun_with)
        if span is None or span == known:
            return None
        since, until = span
        return tuple(one for one in self._given(place) if since <= one.at <= until)

    def _span(self, place: int) -> tuple[float, float] | None:
        """When the first and the last round were that a stream's levels came from, by the end of an epoch."""
        process = self._came_to(place)
        return process.baseline if isinstance(process, ScoreStream) else None

    def _came_to(self, place: int) -> object:
        step = self.steps[place]
        text = self.session.scalars(select(StreamState.state).where(StreamState.stream_epoch_id == step.row.id)).one()
        try:
            return decode_state(text).process
        except StateVersionError:
            return Recorded(self.session, step.epoch).computed().streams[step.key].process

    def _given(self, place: int) -> list[Round]:
        """What a stream was given up to the end of an epoch, from the last time on that it began with a baseline or
        with nothing; rounds that came late count nothing, as in `ScoreStream.after`."""
        first = place
        while first and self.steps[first].row.begun is Begun.RENEWED:
            first -= 1
        rounds = list(self._begun_with(first) or ())
        last = None
        for step in self.steps[first : place + 1]:
            for one in _evidence(self.session, step.row):
                if last is None or one.at > last:
                    rounds.append(one)
                    last = one.at
        return rounds


def _ends(rounds: Sequence[Round] | None) -> tuple[float, float] | None:
    return (rounds[0].at, rounds[-1].at) if rounds else None


def _steps(session: Session, row: StreamEpoch) -> list[_Step]:
    found = session.execute(
        select(StreamEpoch, EndpointEpoch, Stream)
        .join(EndpointEpoch, EndpointEpoch.id == StreamEpoch.epoch_id)
        .join(Stream, Stream.id == StreamEpoch.stream_id)
        .where(StreamEpoch.stream_id == row.stream_id, StreamEpoch.escalation == 0, StreamEpoch.id <= row.id)
        .order_by(StreamEpoch.id)
    )
    return [_Step(one, epoch, key_of(stream)) for one, epoch, stream in found]


def _tells_of_enrolments(session: Session, step: _Step) -> bool:
    """An endpoint's enrolment is told of once an epoch: by the first of its streams of log-probabilities."""
    names = (
        select(func.min(Stream.probe_set))
        .join(StreamEpoch, StreamEpoch.stream_id == Stream.id)
        .where(StreamEpoch.epoch_id == step.epoch.id, StreamEpoch.escalation == 0, Stream.tier == StreamTier.LOGPROBS)
    )
    return session.scalars(names).one() == step.key.probe_set


def _evidence(session: Session, row: StreamEpoch) -> list[Round]:
    rows = session.scalars(
        select(StreamEvidence).where(StreamEvidence.stream_epoch_id == row.id).order_by(StreamEvidence.sequence)
    )
    said = ((one.at, statement(one.says)) for one in rows)
    return [Round(at, says.mean) for at, says in said if isinstance(says, Scores)]

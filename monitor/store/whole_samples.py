"""The samples of a run with all that is kept of them, chunk by chunk, so that a run of any size needs little memory."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from sqlalchemy import Select, select

from monitor.store.bodies import Exchange, unpack
from monitor.store.browse_records import SampleRecord, sample_record
from monitor.store.session import Sessions
from monitor.store.tables import Sample, SampleBody

CHUNK = 50


@dataclass(frozen=True, slots=True)
class WholeSample:
    """`exchange` is None once its time has passed."""

    facts: SampleRecord
    exchange: Exchange | None


class WholeSamples:
    """In the order in which they came. Every chunk is one transaction: a body that is deleted meanwhile is missing."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    def of_run(self, run_id: str) -> Iterator[WholeSample]:
        yield from self._chunks(_rows().where(Sample.run_id == run_id))

    def of_ids(self, ids: Collection[int]) -> Iterator[WholeSample]:
        """Those of the samples that exist; few, since they are one statement's parameters."""
        yield from self._chunks(_rows().where(Sample.id.in_(ids)))

    def _chunks(self, query: Select[Sample, bytes]) -> Iterator[WholeSample]:
        after = 0
        while True:
            with self._sessions.read() as session:
                found = session.execute(query.where(Sample.id > after).order_by(Sample.id).limit(CHUNK))
                rows = [(sample_record(sample), blob) for sample, blob in found]
            if not rows:
                return
            for facts, blob in rows:
                yield WholeSample(facts, None if blob is None else unpack(blob))
            after = rows[-1][0].id


def _rows() -> Select[Sample, bytes]:
    return select(Sample, SampleBody.blob).outerjoin(SampleBody, SampleBody.sample_id == Sample.id)

"""What calibration kept of the ambiguous tool-call prompts: kept in the store, by what it holds for."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

from monitor import clock
from monitor.check.reference import OpenReference
from monitor.store.beats import put_setting, setting
from monitor.store.session import Sessions
from probes.tools.calibration_record import Record
from probes.tools.case import Case
from probes.tools.families.suite import Instance, candidates
from probes.tools.plan import suite_sha256
from reference_engine import Description


@dataclass(frozen=True)
class Subject:
    """What a calibration holds for: weights, tokenizer and template of the reference, the profile that answers, and the
    candidates, which the installation's seed makes. Not the arithmetic, which decides the last bits of a probability:
    another machine's kernels, or another release's, leave the choice of prompts valid."""

    description: Description
    profile: str
    seed: bytes = field(repr=False)

    @classmethod
    def of(cls, reference: OpenReference, seed: bytes) -> Subject | None:
        """None where there are no weights that could be in doubt."""
        if reference.description is None:
            return None
        return cls(reference.description, reference.allowed[0], seed)

    @cached_property
    def instances(self) -> Sequence[Instance]:
        return candidates(self.seed)

    @cached_property
    def cases(self) -> list[Case]:
        return [one.case for one in self.instances]

    @cached_property
    def key(self) -> str:
        one = self.description
        facts = (one.weights_sha256, one.tokenizer_sha256, one.template_sha256, self.profile, suite_sha256(self.cases))
        digest = hashlib.sha256("\n".join(facts).encode()).hexdigest()
        return f"calibration:{digest}"


@dataclass(frozen=True, slots=True)
class Shelved:
    """`finished_at` is None while answers are missing."""

    record: Record
    finished_at: datetime | None = None


class Shelf:
    """Where the answers about one subject are kept."""

    def __init__(self, sessions: Sessions, subject: Subject) -> None:
        self._sessions = sessions
        self._subject = subject

    def take_down(self) -> Shelved:
        with self._sessions.read() as session:
            return _shelved(setting(session, self._subject.key))

    def put(self, record: Record) -> Shelved:
        """Add the answers to those that are there, which another process may have asked for."""
        with self._sessions.write() as session:
            there = _shelved(setting(session, self._subject.key))
            there.record.merge(record)
            finished_at = there.finished_at
            if finished_at is None and there.record.run_at_hand(self._subject.cases) is None:
                finished_at = clock.now()
            document = {
                "runs": there.record.to_json(),
                "finished_at": None if finished_at is None else finished_at.isoformat(),
            }
            put_setting(session, self._subject.key, document, clock.now())
        return Shelved(there.record, finished_at)


def calibrated_pool(
    reference: OpenReference, seed: bytes, at: datetime, sessions: Sessions
) -> tuple[Instance, ...] | None:
    """The candidates that were kept; None where no calibration of this reference was finished by `at`, so that a check
    that is begun again asks what it asked before."""
    subject = Subject.of(reference, seed)
    shelved = None if subject is None else Shelf(sessions, subject).take_down()
    if subject is None or shelved is None or shelved.finished_at is None or shelved.finished_at > at:
        return None
    kept = shelved.record.calibration(subject.cases).kept
    return tuple(one for one in subject.instances if one.case.key in kept)


def _shelved(document: Mapping[str, Any] | None) -> Shelved:
    if document is None:
        return Shelved(Record())
    finished_at = document["finished_at"]
    return Shelved(Record(document["runs"]), None if finished_at is None else datetime.fromisoformat(finished_at))

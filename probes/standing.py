"""Decides when a run should stop: the provider plainly cannot be used, or goes on being asked at its own expense."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from probes.failure import Failure, FailureKind
from probes.plan import Outcome, Sample

# Before anything succeeded, one of these settles it; of the others, which may befall a single request, it takes three.
_OF_NOBODY = frozenset({FailureKind.DNS, FailureKind.REFUSED, FailureKind.UNREACHABLE, FailureKind.TLS})
_OF_NO_USE = frozenset({FailureKind.TIMEOUT, FailureKind.RATE_LIMITED, FailureKind.NOT_FOUND, FailureKind.PROTOCOL})
_SETTLES_ALWAYS = frozenset({FailureKind.AUTH, FailureKind.QUOTA})
_GRACE = 3
_RATE_LIMITED_SHARE = 0.2
_LEAST_ATTEMPTS = 10
_WINDOW = 10
_FAILED_IN_WINDOW = 5

OUTCOMES = {
    FailureKind.TIMEOUT: Outcome.TIMEOUT,
    FailureKind.RATE_LIMITED: Outcome.RATE_LIMITED,
    FailureKind.PROTOCOL: Outcome.INVALID,
}


def outcome_of(failure: Failure | None) -> Outcome:
    return Outcome.OK if failure is None else OUTCOMES.get(failure.kind, Outcome.HTTP_ERROR)


@dataclass(slots=True)
class Standing:
    """What one run has shown of the provider so far. `endures`: that some requests fail is what it is to find out, as
    under load, and nothing to stop it for once one succeeded. `answers`: it was heard to answer before this run."""

    endures: bool = False
    answers: bool = False
    succeeded: int = 0
    failed: int = 0
    attempts: int = 0
    turned_away: int = 0
    last: Failure | None = None
    window: deque[bool] = field(default_factory=lambda: deque(maxlen=_WINDOW))

    def add(self, sample: Sample, failure: Failure | None) -> Failure | None:
        """Count one sample; the failure to stop the run with, None to go on."""
        self.attempts += len(sample.attempts)
        self.turned_away += sum(attempt.http_status == 429 for attempt in sample.attempts)
        if failure is None:
            self.succeeded += 1
            self.window.append(True)
            return None
        self.failed += 1
        self.last = failure
        if failure.kind in _SETTLES_ALWAYS:
            return failure
        if self.succeeded == 0 and failure.kind in _OF_NOBODY:
            return failure
        if self.succeeded == 0 and not self.answers:
            return failure if failure.kind in _OF_NO_USE or self.failed >= _GRACE else None
        if self.endures:
            return None
        if failure.kind is FailureKind.RATE_LIMITED:
            return self._rate_limited(failure)
        self.window.append(False)
        return self._failing(failure)

    def conclude(self) -> Failure | None:
        """What a run that went through is to be failed by: nothing in it succeeded."""
        return self.last if self.succeeded == 0 else None

    def _rate_limited(self, failure: Failure) -> Failure | None:
        if self.attempts < _LEAST_ATTEMPTS or self.turned_away <= _RATE_LIMITED_SHARE * self.attempts:
            return None
        message = f"{self.turned_away} of {self.attempts} requests were answered 429; the run stopped early."
        return Failure(FailureKind.RATE_LIMITED, f"{message} {failure.message}", failure.remedy)

    def _failing(self, failure: Failure) -> Failure | None:
        failed = self.window.count(False)
        if failed < _FAILED_IN_WINDOW:
            return None
        message = f"{failed} of the last {len(self.window)} requests failed; the run stopped early."
        return Failure(failure.kind, f"{message} {failure.message}", failure.remedy)

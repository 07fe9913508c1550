"""Goes on with a run of a private suite that was broken off: what it was answered is not asked again."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from monitor import clock
from monitor.check.eval_suite import EvalSuite
from monitor.check.ledger import Ledger
from monitor.config import EndpointConfig
from monitor.datadir import DataDir
from monitor.errors import UsageError
from probes.evals.grade import Graded, Reason

# Answers that are further apart are not those of one endpoint.
_WITHIN = timedelta(days=1)
_NOT_ANSWERED = (Reason.TRANSPORT, Reason.RATE_LIMITED)


def resumed(suite: EvalSuite, endpoint: EndpointConfig, data: DataDir) -> EvalSuite:
    """With what the last run left. Raises UsageError where it left nothing: it was none of this version, came to its
    end, or is too long ago."""
    with Ledger.reading(data, endpoint) as ledger:
        left = ledger.broken_off(suite.sha256, clock.now() - _WITHIN)
    graded = tuple(one for one in left if one.rep < suite.reps and _answered(one))
    if not graded:
        raise UsageError(
            f"There is no run of {suite.name} to go on with: none of this version was broken off within a day.",
            remedy="Leave --resume out.",
        )
    return replace(suite, graded=graded)


def _answered(one: Graded) -> bool:
    return one.grade.reason not in _NOT_ANSWERED

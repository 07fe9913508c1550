"""Whether a sample says anything of quality, and if not, why: availability is counted apart."""

from __future__ import annotations

from probes.completion import Completion
from probes.diagnosis import status_of
from probes.plan import Attempt, Outcome, Sample
from probes.quirks import Disposition, Quirk
from probes.tools.case import Oracle
from probes.tools.scored import Availability, Exclusion

# 4xx that speak of the account, the address or the moment, not of the request.
_NOT_OF_THE_REQUEST = frozenset({401, 402, 403, 404, 407, 408, 409, 425, 429})
_TURNED_AWAY = frozenset({429, 503, 529})
_QUOTA = "provider_quota"


def whole_answer(sample: Sample) -> Completion | None:
    """The answer where one came whole: also one whose call the provider found wanting."""
    answer = sample.completion
    return answer if answer is not None and sample.outcome is Outcome.OK and not _is_error(answer) else None


def is_refusal(sample: Sample) -> bool:
    """Whether the endpoint refused the request for what it says."""
    answer = sample.completion
    if answer is None or not _is_error(answer) or sample.outcome is Outcome.RATE_LIMITED:
        return False
    status = status_of(answer)
    return 400 <= status < 500 and status not in _NOT_OF_THE_REQUEST


def exclusion_of(oracle: Oracle, sample: Sample) -> Exclusion | None:
    """Why a sample is not judged; None also for a refusal that may be right."""
    answer = whole_answer(sample)
    if answer is None:
        return _of_failure(oracle, sample)
    if answer.finish_reason == "content_filter":
        return Exclusion.CONTENT_FILTER
    cut = answer.finish_reason == "length" or Quirk.FINISH_MASKS_LENGTH in answer.quirks
    return Exclusion.LENGTH if cut and not oracle.cut else None


def availability_of(oracle: Oracle, sample: Sample) -> Availability:
    tries = sample.tries
    answer = whole_answer(sample)
    ended = answer is not None and (answer.finish_reason is not None or Quirk.TC_PROVIDER_REJECTED in answer.quirks)
    answered = ended or (oracle.rejected and is_refusal(sample))
    return Availability(
        first_ok=answered and len(tries) == 1,
        eventually_ok=answered,
        shed=bool(tries) and _is_shed(tries[0]),
    )


def _of_failure(oracle: Oracle, sample: Sample) -> Exclusion | None:
    if sample.outcome is Outcome.RATE_LIMITED:
        return Exclusion.RATE_LIMITED
    if is_refusal(sample):
        return None if oracle.rejected else Exclusion.REFUSED
    return Exclusion.TRANSPORT


def _is_error(answer: Completion) -> bool:
    return answer.disposition is Disposition.ERROR


def _is_shed(attempt: Attempt) -> bool:
    in_band = attempt.http_status == 200 and attempt.error == _QUOTA
    return attempt.http_status in _TURNED_AWAY or in_band

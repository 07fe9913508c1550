"""What requests may have cost, whatever their endpoint says: an answer without usage was paid for as well."""

from __future__ import annotations

from collections.abc import Iterable

from monitor.check.sizes import Sizes, planned_size
from monitor.usage import Tokens, claimed_count
from probes.capabilities import TOKEN_LIMITS
from probes.completion import Completion
from probes.plan import Attempt, Item, Outcome, Sample


def charge_of(samples: Iterable[Sample], sizes: Sizes) -> Tokens:
    """By the endpoint's usage; what it did not refuse and named no usage of that can be meant, by its size."""
    return sum((_charge(sample, planned_size(sample.item, sizes)) for sample in samples), Tokens())


def charge_of_unanswered(items: Iterable[Item], sizes: Sizes) -> Tokens:
    """Of requests that were on their way when the asking ended."""
    return sum((planned_size(item, sizes) for item in items), Tokens())


def _charge(sample: Sample, size: Tokens) -> Tokens:
    sent = Tokens(size.prompt, _most_completed(sample, size))
    *earlier, last = sample.attempts
    tokens = sum((sent for attempt in earlier if _was_begun(attempt)), Tokens())
    if sample.completion is not None and _was_begun(last):
        return tokens + _claimed(sample.completion, sent)
    return tokens + sent if sample.outcome is Outcome.TIMEOUT or _was_begun(last) else tokens


def _was_begun(attempt: Attempt) -> bool:
    return attempt.http_status is not None and attempt.http_status < 400


def _claimed(completion: Completion, sent: Tokens) -> Tokens:
    usage = completion.usage
    if usage is None:
        return sent
    completed = claimed_count(usage.completion_tokens)
    # There is no prompt without tokens.
    return Tokens(
        claimed_count(usage.prompt_tokens) or sent.prompt, sent.completion if completed is None else completed
    )


def _most_completed(sample: Sample, size: Tokens) -> int:
    """As it was sent: not every endpoint accepts as low a limit as was planned."""
    limits = [sample.request.get(name) for name in TOKEN_LIMITS]
    return max([size.completion, *(limit for limit in limits if isinstance(limit, int))])

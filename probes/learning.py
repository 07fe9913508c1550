"""Learns from a refusal which parameters an endpoint accepts: a pure step from one `Capabilities` to the next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from probes.capabilities import DROPPABLE, TOKEN_LIMITS, Capabilities, TokenLimitParameter
from probes.complaint import Complaint, read_complaints

LEARNABLE_STATUSES = frozenset({400, 403, 422, 501})

# Other APIs' names for the token limit, met where a gateway translates the request before it is refused.
TOKEN_LIMIT_ALIASES = ("max_output_tokens", "max_new_tokens", "max_tokens_to_sample", "num_predict")
# The sizes providers are known to stop at, for an endpoint that refuses a size without naming its own.
_TOP_LOGPROBS_LADDER = (8, 5, 1)
_MOST_TOKENS = 1024


def learn(
    capabilities: Capabilities, request: Mapping[str, Any], status: int, error_body: bytes
) -> Capabilities | None:
    """What the refusal of `request` (as sent) teaches, None where it names nothing that could be changed.

    A result always changes the request: `result.adapt(request) != request`. So a client that learns and sends again
    either makes progress or stops.
    """
    if status not in LEARNABLE_STATUSES:
        return None
    learned = capabilities
    for complaint in read_complaints(error_body):
        learned = _heed(learned, request, complaint)
    return learned if learned.adapt(request) != dict(request) else None


def _heed(capabilities: Capabilities, request: Mapping[str, Any], complaint: Complaint) -> Capabilities:
    blamed = _blamed(request, complaint)
    if not blamed:
        return capabilities
    if blamed[0] in TOKEN_LIMITS:
        return _heed_token_limit(capabilities, request, blamed[0], complaint)
    if "top_logprobs" in blamed or "logprobs" in blamed:
        return _heed_logprobs(capabilities, request, blamed, complaint)
    if not (_pointed_at(request, complaint) or complaint.says_unsupported or complaint.says_bad_value):
        return capabilities
    # "a and b cannot both be set": one of them can stay.
    dropped = blamed[-1:] if "both" in complaint.text else blamed
    return replace(capabilities, unsupported=capabilities.unsupported | (set(dropped) & DROPPABLE))


def _blamed(request: Mapping[str, Any], complaint: Complaint) -> list[str]:
    """The request's parameters the complaint is about: those a field names, else those its text names, in order."""
    if pointed := _pointed_at(request, complaint):
        return pointed
    places: dict[str, int] = {}
    for word in (*DROPPABLE, *TOKEN_LIMITS, *TOKEN_LIMIT_ALIASES):
        parameter = _parameter(word, request)
        position = complaint.position(word)
        if parameter is not None and position is not None:
            places[parameter] = min(position, places.get(parameter, position))
    return sorted(places, key=places.__getitem__)


def _pointed_at(request: Mapping[str, Any], complaint: Complaint) -> list[str]:
    named = (_parameter(name, request) for name in complaint.named)
    return [name for name in named if name is not None]


def _parameter(name: str, request: Mapping[str, Any]) -> str | None:
    """The request's own name for what an error calls `name`."""
    if name in (*TOKEN_LIMIT_ALIASES, *TOKEN_LIMITS):
        return next((limit for limit in TOKEN_LIMITS if limit in request), None)
    return name if name in DROPPABLE and name in request else None


def _heed_token_limit(
    capabilities: Capabilities, request: Mapping[str, Any], sent_as: str, complaint: Complaint
) -> Capabilities:
    sent = request[sent_as]
    least = complaint.lower_bound
    if least is not None and isinstance(sent, int) and sent < least <= _MOST_TOKENS:
        return replace(capabilities, min_max_tokens=least)
    if complaint.asks_for_more and isinstance(sent, int) and sent < _MOST_TOKENS:
        return replace(capabilities, min_max_tokens=min(max(16, 4 * sent), _MOST_TOKENS))
    other: TokenLimitParameter = "max_tokens" if sent_as == "max_completion_tokens" else "max_completion_tokens"
    refused = capabilities.refused_limits | {sent_as}
    if not complaint.says_unsupported or other in refused:
        return capabilities
    return replace(capabilities, token_limit_parameter=other, refused_limits=refused)


def _heed_logprobs(
    capabilities: Capabilities, request: Mapping[str, Any], blamed: list[str], complaint: Complaint
) -> Capabilities:
    counts = [request.get("top_logprobs"), request.get("logprobs")]
    sent = next((count for count in counts if isinstance(count, int) and not isinstance(count, bool)), None)
    most = complaint.upper_bound
    if sent is not None and most:
        return replace(capabilities, max_top_logprobs=most) if most < sent else capabilities
    if complaint.says_unsupported or (_pointed_at(request, complaint) and not complaint.says_bad_value) or most == 0:
        if "logprobs" in blamed and most != 0:
            return capabilities.without_logprobs()
        return replace(capabilities, unsupported=capabilities.unsupported | {"top_logprobs"})
    if sent is None or not complaint.says_bad_value:
        return capabilities
    smaller = next((size for size in _TOP_LOGPROBS_LADDER if size < sent), 0)
    return replace(capabilities, max_top_logprobs=smaller)

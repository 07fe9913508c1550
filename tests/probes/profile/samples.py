"""Samples of what a stack wrote, without a network between."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from probes.plan import Attempt, Item, Outcome, Sample
from probes.profile.extract import profile_of
from probes.profile.features import Profile
from probes.reader import read
from tests.endpoints.stacks import Said, Stack

PLAIN: Mapping[str, Any] = {"model": "acme/lark-30b", "messages": [{"role": "user", "content": "Go on."}]}
STREAM = {**PLAIN, "stream": True, "stream_options": {"include_usage": True}}
LOGPROBS = {**PLAIN, "logprobs": True, "top_logprobs": 3}


def sample_of(request: Mapping[str, Any], body: str, headers: Mapping[str, str], status: int = 200) -> Sample:
    raw = body.encode()
    completion = read(request, endpoint="/v1/chat/completions", http_status=status, headers=headers, body=raw)
    attempt = Attempt(status, headers, raw, datetime(2026, 11, 29, tzinfo=UTC), 1.0)
    outcome = Outcome.OK if status < 400 else Outcome.REFUSED
    return Sample(Item("one", 0, request), outcome, completion, (attempt,), request)


def written(stack: Stack, request: Mapping[str, Any], said: Said | None = None) -> Sample:
    said = said or Said()
    if request.get("stream"):
        return sample_of(request, stack.stream(request, said), {"content-type": "text/event-stream", **stack.headers})
    return sample_of(request, stack.whole(request, said), {"content-type": "application/json", **stack.headers})


def profile(stack: Stack, request: Mapping[str, Any], said: Said | None = None) -> Profile:
    found = profile_of(written(stack, request, said))
    assert found is not None
    return found


def refused(stack: Stack, error: Mapping[str, Any], status: int = 400) -> Profile:
    body = stack.text(stack.error(dict(error)))
    found = profile_of(sample_of(PLAIN, body, {"content-type": "application/json", **stack.headers}, status))
    assert found is not None
    return found

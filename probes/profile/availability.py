"""F3: whether log-probabilities can be had, of an answer and of the prompt itself (`echo`), and in what shape."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from probes.completion import Endpoint
from probes.grammar import GRAMMAR_SHA256, single_use
from probes.plan import Item, Outcome, Plan, ProbeKind, Sample
from probes.profile.answer_features import logprob_shape, top_k
from probes.profile.reply import Reply
from probes.wire.token_logprobs import positions_in

VERSION = "1"
_CHAT: Endpoint = "/v1/chat/completions"
_TEXT: Endpoint = "/v1/completions"
_FEW, _MANY = 5, 20


class Availability(StrEnum):
    AVAILABLE = "available"
    ABSENT = "absent"
    """Answered, without any."""
    REFUSED = "refused"
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True)
class LogprobAccess:
    """One way to ask. `shape` and `top_k` are those features of the profile, None where nothing came; `of_prompt` is
    whether the prompt's own tokens had values, None where they were not asked for."""

    way: str
    availability: Availability
    shape: str | None = None
    top_k: str | None = None
    of_prompt: bool | None = None


def plan(seed: bytes, run_nonce: bytes) -> Plan:
    """Four requests of a token each, sent as they stand: chat with a few alternatives and with many, a completion, and
    one that echoes its prompt."""
    few, many, text, echo = single_use(seed, run_nonce, 4)
    nonce = hashlib.sha256(run_nonce).hexdigest()[:8]
    bodies: dict[str, dict[str, Any]] = {
        "chat": {"messages": [dict(one) for one in few.messages], "logprobs": True, "top_logprobs": _FEW},
        "chat-many": {"messages": [dict(one) for one in many.messages], "logprobs": True, "top_logprobs": _MANY},
        "text": {"prompt": text.messages[-1]["content"], "logprobs": _FEW},
        "echo": {"prompt": echo.messages[-1]["content"], "logprobs": 1, "echo": True},
    }
    items = tuple(
        Item(
            f"logprob-access/{way}-{nonce}",
            0,
            {**body, "max_tokens": 1, "temperature": 0, "stream": False},
            endpoint=_CHAT if "messages" in body else _TEXT,
            verbatim=True,
        )
        for way, body in bodies.items()
    )
    suite = hashlib.sha256(f"{VERSION}\n{GRAMMAR_SHA256}".encode()).hexdigest()
    return Plan(ProbeKind.PROTOCOL, items, suite, VERSION)


def access(samples: Iterable[Sample]) -> tuple[LogprobAccess, ...]:
    """What each way of asking brought, in the samples' order; samples of other plans are passed over."""
    return tuple(_access(sample) for sample in samples if sample.item.key.startswith("logprob-access/"))


def _access(sample: Sample) -> LogprobAccess:
    way = sample.item.key.removeprefix("logprob-access/").rpartition("-")[0]
    if sample.outcome is Outcome.REFUSED:
        return LogprobAccess(way, Availability.REFUSED)
    reply = Reply.of(sample)
    if sample.outcome is not Outcome.OK or reply is None or not reply.choices:
        return LogprobAccess(way, Availability.UNCLEAR)
    shape = logprob_shape(reply)
    echoed = _covers_the_prompt(reply) if sample.item.request.get("echo") else None
    if shape in (None, "none"):
        return LogprobAccess(way, Availability.ABSENT, of_prompt=echoed)
    return LogprobAccess(way, Availability.AVAILABLE, shape, top_k(reply), echoed)


def _covers_the_prompt(reply: Reply) -> bool:
    """Whether there are values for more tokens than the one that was generated; the first one of all never has one."""
    found = positions_in(reply.choices[0].get("logprobs"))
    return sum(position.sampled.value is not None for position in found) > 1

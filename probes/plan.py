"""The values that travel between a probe, the client and the judge: `Plan` → `Sample`s."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from probes.completion import Completion, Endpoint
from probes.conversation import Conversation


class ProbeKind(StrEnum):
    LOGPROBS = "logprobs"
    BORDER = "border"
    SAMPLING = "sampling"
    ACCOUNTING = "accounting"
    TOOL_CALLS = "tool_calls"
    EVALS = "evals"
    LATENCY = "latency"
    PROTOCOL = "protocol"
    AGENT_LOOPS = "agent_loops"
    GREEDY = "greedy"


class Outcome(StrEnum):
    OK = "ok"
    WRONG = "wrong"
    INVALID = "invalid"
    REFUSED = "refused"
    HTTP_ERROR = "http_error"
    TIMEOUT = "timeout"
    RATE_LIMITED = "rate_limited"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Item:
    """One request of a plan.

    `key` is stable: the same anchor has the same key in every run; a single-use item's key is unique. `rep` counts the
    repeats of one item within a run. `request` is the body as the probe means it (model, stream and what the endpoint
    turned out to refuse are the client's business). A `verbatim` one goes out as it stands: nothing is adapted or
    learned, and a 4xx to it is its answer. `at` is when it is meant to leave, in seconds after its plan began; items
    with one stand in that order, and go side by side whatever the probe. Once others were answered, a 4xx to the body
    of such a one is its answer as well: its prompt is longer than the endpoint takes. Of a `private` one neither the
    request nor any answer is kept: they are somebody's secret.
    """

    key: str
    rep: int
    request: Mapping[str, Any]
    endpoint: Endpoint = "/v1/chat/completions"
    anchor: bool = False
    verbatim: bool = False
    at: float | None = None
    private: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """What one probe sends: its items in sending order, then its conversations, and the content hash of the suite they
    come from."""

    probe: ProbeKind
    items: tuple[Item, ...]
    suite_sha256: str
    suite_version: str
    conversations: tuple[Conversation, ...] = ()

    @property
    def foreseen(self) -> tuple[Item, ...]:
        """Its items, and the requests of its conversations if each goes the shortest way."""
        return (*self.items, *(item for one in self.conversations for item in one.foreseen))


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try of a request. `error` is a code of the error tree, None where an answer was read. `body` is raw."""

    http_status: int | None
    headers: Mapping[str, str]
    body: bytes
    sent_at: datetime
    seconds: float
    error: str | None = None
    message: str | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """One item and its normalised answer. `attempts[0]` is the first try, whatever the retries brought.

    `request` is the body as sent by the last attempt, without headers or keys. `late_s` is how long after its `at` the
    last attempt left: what the answer's times lack to those of a user who asked on time. `held_s` is the part of that
    for which our own pace held it back, which no user would have to wait. None without an `at`.
    """

    item: Item
    outcome: Outcome
    completion: Completion | None
    attempts: tuple[Attempt, ...]
    request: Mapping[str, Any] = field(default_factory=dict)
    late_s: float | None = None
    held_s: float | None = None

    @property
    def tries(self) -> tuple[Attempt, ...]:
        """The attempts but for lessons, which taught the client the form that the endpoint takes: an answer of an error
        that is held for none, and after it another."""
        return tuple(one for one in self.attempts if one.error is not None or one is self.attempts[-1])

    @property
    def first_attempt_ok(self) -> bool:
        """Whether the first try was answered: also by a call that the provider itself found wanting and, where the item
        was sent to be refused, by a refusal."""
        if len(self.tries) != 1 or self.tries[0].http_status is None:
            return False
        return self.tries[0].error is None and (self.item.verbatim or self.outcome is not Outcome.REFUSED)

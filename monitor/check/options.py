"""What a check is asked to do, and whom it tells how far it is."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Protocol, Self

from monitor.check.budget import Budget
from monitor.config.asking import LEAST_N
from monitor.errors import UsageError
from probes.plan import ProbeKind

if TYPE_CHECKING:
    from monitor.check.eval_suite import EvalSuite
    from probes.load.probe import Load

DEFAULT_N = 40
MOST_N = 10_000
# A call of one short argument takes about as many.
LEAST_ANSWER_TOKENS = 16
_PLAIN = ("n", "whole_suite", "answer_tokens", "timeout")
_BUDGET = ("max_cost", "max_requests", "max_tokens")
PROBES = (ProbeKind.LOGPROBS, ProbeKind.ACCOUNTING, ProbeKind.LATENCY)
QUICK = (*PROBES, ProbeKind.TOOL_CALLS, ProbeKind.PROTOCOL)
FULL = (*QUICK, ProbeKind.AGENT_LOOPS)
# Those beyond the suites are for schedules: a run of theirs proves little by itself, and many add up.
OFFERED = (*FULL, ProbeKind.SAMPLING, ProbeKind.GREEDY, ProbeKind.BORDER)


def least_n(probes: Collection[ProbeKind | str]) -> int:
    """Single-token requests that a check of these has to ask: of border inputs alone one is enough."""
    return 1 if {ProbeKind.LOGPROBS, ProbeKind.ACCOUNTING}.isdisjoint(probes) else LEAST_N


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """n: single-token requests of the check. whole_suite: all tool-call cases, where a usual check asks the eighth
    whose turn it is, all experiments on parameters, streams under load, and agent loops in every way. load: of what
    kind, where it is not the usual one. answer_tokens: the most that answers to tool-call cases and in
    agent loops may have, None for as many as each has room for. evals: the private suite to ask, by whoever has its
    key.
    timeout: seconds for all sending. confirms: whether it repeats a check that found drift, on fresh prompts.
    keep_bodies: for how long requests and answers of earlier checks are kept, where no service's configuration is
    stored that says so. resume: go on with the last check of these options, which was broken off. Raises UsageError
    for what cannot be meant."""

    probes: tuple[ProbeKind, ...] = PROBES
    n: int = DEFAULT_N
    budget: Budget = field(default_factory=Budget)
    timeout: float | None = None
    save: bool = True
    confirms: bool = False
    whole_suite: bool = False
    answer_tokens: int | None = None
    evals: EvalSuite | None = None
    load: Load | None = None
    keep_bodies: timedelta = timedelta(days=14)
    resume: bool = False

    def __post_init__(self) -> None:
        if not least_n(self.probes) <= self.n <= MOST_N:
            raise UsageError(
                f"--n {self.n} is not between {least_n(self.probes)} and {MOST_N}.",
                remedy=f"The default is {DEFAULT_N}.",
            )
        if self.answer_tokens is not None and self.answer_tokens < LEAST_ANSWER_TOKENS:
            raise UsageError(
                f"--answer-tokens {self.answer_tokens} is less than {LEAST_ANSWER_TOKENS}.",
                remedy="A call takes some dozen tokens; 128 are enough for most.",
            )
        if self.timeout is not None and not self.timeout > 0.0:
            raise UsageError(f"--timeout {self.timeout:g} s is not above 0.", remedy="Give a time such as 90s or 10m.")

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """The options of a queue entry: `probes` (names), `n`, `whole_suite`, `answer_tokens`, `timeout`, `load`,
        `max_cost`, `max_requests`, `max_tokens`; each has a default."""
        known = {key: stored[key] for key in _PLAIN if stored.get(key) is not None}
        if stored.get("load"):
            known["load"] = _load(stored["load"])
        known["budget"] = Budget(*(stored.get(key) for key in _BUDGET))
        names = stored.get("probes")
        if names:
            known["probes"] = tuple(kind for kind in OFFERED if kind.value in names)
            unknown = sorted(set(map(str, names)) - {kind.value for kind in OFFERED})
            if unknown:
                offered = ", ".join(kind.value for kind in OFFERED)
                raise UsageError(f"There is no probe {unknown[0]}.", remedy=f"Name one of: {offered}.")
        return cls(**known)

    def to_json(self) -> dict[str, Any]:
        """What `from_json` reads."""
        limits = dict(zip(_BUDGET, (self.budget.usd, self.budget.requests, self.budget.tokens), strict=True))
        given = {name: getattr(self, name) or None for name in _PLAIN} | limits
        if self.load is not None and ProbeKind.LATENCY in self.probes:
            load = self.load
            given["load"] = {"per_second": load.per_second, "each": load.each, "sizes": list(load.sizes)}
        return {"probes": [kind.value for kind in self.probes], **{k: v for k, v in given.items() if v is not None}}


def _load(stored: Mapping[str, Any]) -> Load:
    # Here: a process that sends no load has no use for what makes one.
    from probes.load.probe import Load

    return Load(float(stored["per_second"]), stored["each"], tuple(stored["sizes"]))


class Progress(Protocol):
    """Told of every step, so that a terminal can show a bar."""

    def begin(self, steps: int, what: str) -> None: ...

    def step(self, what: str) -> None: ...


class Silent:
    """Tells nobody."""

    def begin(self, steps: int, what: str) -> None:
        """Nothing to show."""

    def step(self, what: str) -> None:
        """Nothing to show."""

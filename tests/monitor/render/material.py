"""Checks and rates of every kind that a document can have, drawn by a seed, and documents around them."""

from __future__ import annotations

import random
from datetime import UTC, datetime

from hypothesis import strategies as st

from monitor.drift.rule import Verdict
from monitor.verdict import Check, Cost, FidelityStatement, RateValue, VerdictDocument

AT = datetime(2026, 11, 29, tzinfo=UTC)
# One number a case: drawn one by one, the parts of a document take seconds.
SEEDS = st.integers(0, 2**32)
UNITS = {
    "logprobs": "nat",
    "accounting": "token",
    "latency": "s",
    "protocol.parameters": "changes",
    "protocol.stack": "changes",
    "protocol.tokens": "token",
    "fidelity.tokens": "token",
    "tool_calls.availability": "rate",
    "tool_calls.accumulated": "rate",
    "agent_loops.conformance": "rate",
    "evals": "rate",
    "fidelity.arguments": "rate",
    "fidelity.twins": "rate",
}
RATES = (
    "first_attempt_ok",
    "oracle_trigger_fpr",
    "parallel_exact",
    "loop_instruction_resisted",
    "loop_steps_ratio",
    "accuracy",
    "accuracy.sums",
    "goodput.1k-4k",
)
_REASONS = ("enrolled", "1 case in common, and 8 are needed", "no reference that answers")


def check(seed: int, probe: str = "") -> Check:
    """Judged, or with a reason why nothing could be."""
    rng = random.Random(seed)
    probe = probe or rng.choice(sorted(UNITS))
    unit = UNITS[probe]
    if rng.random() < 0.3:
        reason, n = rng.choice(_REASONS), rng.randrange(100)
        return Check(probe=probe, verdict=Verdict.INCONCLUSIVE, reason=reason, unit=unit, n=n)
    now, then = _level(rng, unit), _level(rng, unit)
    value = now - then if unit == "rate" else now
    known = unit == "rate" or (probe in ("logprobs", "accounting") and rng.random() < 0.5)
    return Check(
        probe=probe,
        verdict=rng.choice((Verdict.OK, Verdict.SUSPECT, Verdict.DRIFT, Verdict.INCONCLUSIVE)),
        value=value,
        unit=unit,
        interval=(value - rng.random(), value + rng.random()) if rng.random() < 0.8 else None,
        baseline=then if known else None,
        detectable=rng.choice((None, _level(rng, unit))),
        p=rng.choice((None, rng.random())),
        n=rng.randrange(1, 2_000),
    )


def checks(seed: int) -> tuple[Check, ...]:
    """One of each."""
    return tuple(check(seed + place, probe) for place, probe in enumerate(UNITS))


def rates(seed: int) -> tuple[RateValue, ...]:
    """One of each, some of nothing."""
    rng = random.Random(seed)
    return tuple(_rate(rng, name) for name in RATES)


def _rate(rng: random.Random, name: str) -> RateValue:
    denominator = rng.choice((0, 1, 3, rng.randrange(1, 5_000)))
    numerator = rng.randint(0, denominator)
    return RateValue(
        name=name,
        value=numerator / denominator if denominator else None,
        numerator=numerator,
        denominator=denominator,
        excluded={reason: rng.randrange(1, 99) for reason in ("length", "transport") if rng.random() < 0.5},
        interval=(0.0, 1.0) if denominator and rng.random() < 0.8 else None,
        method="wilson",
        reference=rng.choice((None, rng.random(), 1.0)),
        reference_denominator=rng.choice((None, rng.randrange(1, 5_000))),
    )


def _level(rng: random.Random, unit: str) -> float:
    """All and nothing are the usual rates."""
    if unit == "rate":
        return rng.choice((0.0, 1.0, rng.random()))
    if unit == "nat":
        return rng.random() * 20.0
    return rng.random() * 900.0 if unit == "s" else float(rng.randrange(0 if unit == "changes" else -500, 500))


def document(
    *checks: Check, rates: tuple[RateValue, ...] = (), cost: Cost | None = None, verdict: Verdict = Verdict.OK
) -> VerdictDocument:
    return VerdictDocument(
        provider="x",
        model="lark",
        endpoint="https://x.test/v1",
        verdict=verdict,
        checks=checks,
        rates=rates,
        fidelity=FidelityStatement(verdict=Verdict.INAPPLICABLE, reason="no weights"),
        cost=cost or Cost(),
        started_at=AT,
        finished_at=AT,
    )

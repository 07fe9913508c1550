"""Evidence of streams on its way into a row and back: what is folded is what will be read again."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from monitor.drift.evidence import (
    Combining,
    Counts,
    Evidence,
    ExactP,
    Factors,
    Inapplicable,
    LogLikelihoods,
    Null,
    Scores,
    Statement,
    StreamKey,
)
from monitor.errors import StorageError
from monitor.store.stream_likelihoods import likelihoods_of, plain_likelihoods
from monitor.store.tables import StreamEvidence
from monitor.store.text import foreign_text

LONGEST_REASON = 200
MOST_REASONS = 8


def cleaned(evidence: Evidence) -> Evidence:
    """As it is stored: numbers as floats, reasons short and few. Raises StorageError for a time that is none."""
    if not math.isfinite(evidence.at):
        raise StorageError(f"Evidence of the time {evidence.at} cannot be stored.", remedy="Give seconds since 1970.")
    return Evidence(
        evidence.stream,
        float(evidence.at),
        statement(plain(evidence.says)),
        evidence.n,
        evidence.tokens,
        tuple(_short(reason) for reason in evidence.reasons[:MOST_REASONS]),
    )


def evidence_of(row: StreamEvidence, key: StreamKey) -> Evidence:
    """Raises StorageError for what was not stored by this module."""
    try:
        return Evidence(key, row.at, statement(row.says), row.n, row.tokens, tuple(row.reasons))
    except (KeyError, TypeError, ValueError) as error:
        raise StorageError(
            f"Stored evidence ({row.sequence}) is damaged ({type(error).__name__}).",
            remedy="Restore the database from a backup.",
        ) from error


def plain(says: Statement) -> dict[str, Any]:
    """A statement as a JSON value. An e-value may be infinite: the reference rules out what was answered."""
    match says:
        case Scores():
            return {"kind": "scores", "scores": [float(score) for score in says.scores]}
        case Counts():
            bad = [[case, float(share)] for case, share in says.bad]
            new = {"fresh_bad": float(says.fresh_bad), "fresh": says.fresh, "asked": says.asked}
            return {"kind": "counts", "bad": bad, "of": says.of, **new}
        case Factors():
            factors = [_number(factor) for factor in says.factors]
            return {"kind": "factors", "factors": factors, "null": says.null.value, "combining": says.combining.value}
        case ExactP():
            p = float(says.p)
            return {"kind": "exact_p", "p": p, "null": says.null.value, "combining": says.combining.value}
        case LogLikelihoods():
            return {"kind": "log_likelihoods", **plain_likelihoods(says)}
        case Inapplicable():
            return {"kind": "inapplicable", "reason": _short(says.reason)}


def statement(found: Mapping[str, Any]) -> Statement:
    """What `plain` was given. Raises ValueError, KeyError or TypeError for anything else."""
    match found["kind"]:
        case "scores":
            return Scores(tuple(found["scores"]))
        case "counts":
            shares = tuple((case, float(share)) for case, share in found["bad"])
            return Counts(shares, found["of"], found["fresh_bad"], found["fresh"], found["asked"])
        case "factors":
            factors = tuple(float(factor) for factor in found["factors"])
            return Factors(factors, Null(found["null"]), Combining(found["combining"]))
        case "exact_p":
            return ExactP(found["p"], Null(found["null"]), Combining(found["combining"]))
        case "log_likelihoods":
            return likelihoods_of(found)
        case "inapplicable":
            return Inapplicable(found["reason"])
    raise ValueError(f"no statement is of kind {found['kind']}")


def _number(factor: float) -> float | str:
    return float(factor) if math.isfinite(factor) else str(float(factor))


def _short(reason: str) -> str:
    return foreign_text(reason, LONGEST_REASON) or ""

"""Log-likelihoods of a round, and the ratio that they add up to, as JSON values with every bit.

Rows of a round are packed in base64, eight bytes a number: a candidate that was not computed is NaN, one that rules a
token out is −∞, and JSON has neither.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping
from math import inf
from typing import TYPE_CHECKING, Any

from monitor.drift.evidence import LogLikelihoods
from monitor.drift.likelihood_stream import LikelihoodStream

# Here and below: numpy is a tenth of what a web process weighs.
if TYPE_CHECKING:
    from monitor.drift.candidates import Hypotheses

_FLOAT = "<f8"


def plain_likelihoods(says: LogLikelihoods) -> dict[str, Any]:
    return {
        "hypotheses": _plain(says.hypotheses),
        "rows": b64encode(says.values.astype(_FLOAT).tobytes()).decode("ascii"),
        "calibrated": says.calibrated,
    }


def likelihoods_of(found: Mapping[str, Any]) -> LogLikelihoods:
    """What `plain_likelihoods` was given. Raises ValueError, KeyError or TypeError for anything else."""
    import numpy as np

    hypotheses = _hypotheses(found["hypotheses"])
    columns = len(hypotheses.candidates) + len(hypotheses.allowed)
    values = np.frombuffer(b64decode(found["rows"], validate=True), dtype=_FLOAT).reshape(-1, columns)
    return LogLikelihoods(hypotheses, tuple(tuple(row) for row in values.tolist()), _flag(found["calibrated"]))


def plain_ratio(stream: LikelihoodStream) -> dict[str, Any]:
    """A candidate on which nothing is staked yet has null for its stake's logarithm."""
    ratio = stream.ratio
    return {
        "hypotheses": _plain(ratio.hypotheses),
        "calibrated": stream.calibrated,
        "tokens": ratio.tokens,
        "log_value": float(ratio.log_value),
        "candidates": [float(one) for one in ratio.candidates],
        "allowed": [float(one) for one in ratio.allowed],
        "stakes": [None if one == -inf else float(one) for one in ratio.stakes],
    }


def ratio_of(found: Mapping[str, Any]) -> LikelihoodStream:
    """What `plain_ratio` was given. Raises as `likelihoods_of` does."""
    from monitor.drift.candidates import LikelihoodRatio

    ratio = LikelihoodRatio(
        _hypotheses(found["hypotheses"]),
        found["tokens"],
        found["log_value"],
        tuple(found["candidates"]),
        tuple(found["allowed"]),
        tuple(-inf if one is None else one for one in found["stakes"]),
    )
    return LikelihoodStream(ratio, _flag(found["calibrated"]))


def _plain(hypotheses: Hypotheses) -> dict[str, Any]:
    return {
        "candidates": list(hypotheses.candidates),
        "allowed": list(hypotheses.allowed),
        "horizon": hypotheses.horizon,
        "clip": float(hypotheses.clip),
    }


def _hypotheses(found: Mapping[str, Any]) -> Hypotheses:
    from monitor.drift.candidates import Hypotheses

    return Hypotheses(tuple(found["candidates"]), tuple(found["allowed"]), found["horizon"], found["clip"])


def _flag(found: Any) -> bool:
    if not isinstance(found, bool):
        raise TypeError(f"{found!r} is neither true nor false")
    return found

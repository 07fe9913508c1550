"""Evidence from greedy tokens against a bound on lawful noise: a token that the reference would not have given says the
more the further it is below the reference's own, for noise only turns near ties over.

Under the null a token's margin behind the most likely one is made up for by normal noise of at most `LAWFUL` nats
(standard deviation of the difference of two log-probabilities); under the alternatives by noise of a larger deviation.
Each token's ratio of the two chances has a mean of at most 1 under the null, also for less noise, which turns over
less; it is cut off above, which makes it no larger. (Places where a third token is as near are neglected.) Ratios are
multiplied over tokens for each alternative, then the products averaged: an e-process, looked at after every token.
"""

from __future__ import annotations

import numpy as np

from monitor.drift.evidence import Combining, Evidence, Factors, Inapplicable, Null, StreamKey
from monitor.drift.observation import FloatArray

LAWFUL = 0.03
ALTERNATIVES = (0.06, 0.12, 0.25, 0.5, 1.0)
# No single token decides: it may be the reference's own fault.
MOST = 3.0
_MOST_NATS = 600.0


def log_ratios(margins: FloatArray, gaps: FloatArray, lawful: float = LAWFUL) -> FloatArray:
    """[tokens, alternatives], in nats, from [tokens] each: how far the given token, and the second most likely one, are
    below the most likely token under the reference. A margin of 0 is a token that the reference gives too."""
    from scipy.stats import norm

    if not 0.0 < lawful < min(ALTERNATIVES):
        raise ValueError(f"lawful noise is above 0 and below {min(ALTERNATIVES)} nat, the least alternative: {lawful}")
    wide = np.array(ALTERNATIVES)
    given, runner_up = margins[:, None], gaps[:, None]
    kept = np.log1p(-norm.sf(runner_up / wide)) - np.log1p(-norm.sf(runner_up / lawful))
    turned = norm.logsf(given / wide) - norm.logsf(given / lawful)
    return np.asarray(np.minimum(np.where(given > 0, turned, kept), MOST))


def log_evidence(ratios: FloatArray) -> FloatArray:
    """After each token, from [..., tokens, alternatives]: the log of the mean of the products so far, [..., tokens]."""
    sums = ratios.cumsum(axis=-2)
    largest = sums.max(axis=-1, keepdims=True)
    return np.asarray(largest[..., 0] + np.log(np.exp(sums - largest).mean(axis=-1)))


def tokens_until(evidence: FloatArray, nats: float) -> int | None:
    """How many tokens it takes to so much evidence; None where it never comes."""
    reached = np.flatnonzero(evidence >= nats)
    return int(reached[0]) + 1 if len(reached) else None


def of_near_ties(
    stream: StreamKey, at: float, margins: FloatArray, gaps: FloatArray, *, lawful: float = LAWFUL, tokens: int = 0
) -> Evidence:
    """A round's greedy answers, one factor an alternative; margins, gaps: nat, [answers, tokens], nan where nothing is
    compared. tokens: what the answers cost."""
    known = ~(np.isnan(margins) | np.isnan(gaps))
    if not known.any():
        return Evidence(stream, at, Inapplicable("no token of the answers can be compared"), tokens=tokens)
    sums = log_ratios(margins[known], gaps[known], lawful).sum(axis=0)
    factors = tuple(np.exp(np.minimum(sums, _MOST_NATS)).tolist())
    turned = f"{int((margins[known] > 0).sum())} of {int(known.sum())} tokens are not the reference's own"
    answers = int(known.any(axis=-1).sum())
    return Evidence(stream, at, Factors(factors, Null.REFERENCE, Combining.EACH), answers, tokens, (turned,))

"""Greedy answers read by the reference: how far below its own choice the endpoint's tokens are (DETECTION.md §2.3, T3).

The reference is teacher-forced on the tokens that the endpoint gave. d = min(0.5, log p(most likely) − log p(given)) is
Token-DiFR's margin at temperature 0 (Karvonen et al. 2025); a prompt's score is the share of its tokens with d > 0.1
nat, which kernels and batches seldom turn over. Answers after short and after long prompts are streams of their own: a
quantized KV cache adds an error for every token it holds, so it grows with the place, where quantized weights do not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from monitor.drift.evidence import Evidence, Inapplicable, Scores, StreamKey
from monitor.drift.observation import BoolArray, FloatArray
from monitor.drift.resplit import IntArray

NO_TOKEN = -1
CLIP = 0.5  # nat
COUNTED_FROM = 0.1  # nat
LONG_FROM = 8_000  # tokens of a prompt


class Context(StrEnum):
    SHORT = "short"
    LONG = "long"


def agreed(given: IntArray, re_encoded: IntArray) -> BoolArray:
    """Which tokens may be compared, [answers, tokens], where the endpoint names its tokens: ids of one vocabulary,
    `NO_TOKEN` past an answer's end; `re_encoded` is how our tokenizer cuts the same text. From the first token that
    differs on, the reference would read other tokens than the endpoint wrote: nothing of the rest counts."""
    if given.shape != re_encoded.shape:
        raise ValueError(f"answers of {given.shape} and {re_encoded.shape} tokens: pad both to one shape")
    return np.asarray(np.logical_and.accumulate(given == re_encoded, axis=-1) & (given != NO_TOKEN))


def agreed_by_count(re_encoded: IntArray, completion_tokens: IntArray) -> BoolArray:
    """The same where the endpoint only says how many tokens it gave, [answers]: with another count than ours, the text
    was cut otherwise, nobody knows where, and nothing of the answer counts. An end-of-text token may be in the count or
    not."""
    ours = (re_encoded != NO_TOKEN).sum(axis=-1)
    alike = (completion_tokens == ours) | (completion_tokens == ours + 1)
    return np.asarray((re_encoded != NO_TOKEN) & alike[..., np.newaxis])


@dataclass(frozen=True, slots=True, eq=False)
class Divergence:
    """Of some answers. scores: of each answer of which something could be compared; mismatches: the share of tokens
    that the reference would not have given; margin: mean d, nat; tokens: compared; masked: left out."""

    scores: FloatArray
    mismatches: float
    margin: float
    tokens: int
    masked: int

    def __str__(self) -> str:
        left_out = f", {self.masked} left out as they are cut otherwise" if self.masked else ""
        return (
            f"{self.mismatches:.2%} of {self.tokens} tokens are not the reference's own, mean clipped margin "
            f"{self.margin:.4f} nat{left_out}"
        )


def divergence(margins: FloatArray, comparable: BoolArray | None = None) -> Divergence | None:
    """margins: log p(most likely) − log p(given), nat, [answers, tokens], nan past an answer's end; comparable: as from
    `agreed`. None where no token can be compared."""
    there = ~np.isnan(margins)
    if (margins[there] < 0.0).any():
        raise ValueError(f"no token is above the most likely one, and a margin is {margins[there].min()} nat")
    known = there if comparable is None else there & comparable
    if not known.any():
        return None
    clipped = np.minimum(margins[known], CLIP)
    some = known.any(axis=1)
    shares = (known & (np.nan_to_num(margins) > COUNTED_FROM)).sum(axis=1)[some] / known.sum(axis=1)[some]
    tokens = int(known.sum())
    return Divergence(
        np.asarray(shares), float((clipped > 0.0).mean()), float(clipped.mean()), tokens, int(there.sum()) - tokens
    )


def of_greedy(
    stream: StreamKey,
    at: float,
    margins: FloatArray,
    prompt_tokens: IntArray,
    comparable: BoolArray | None = None,
) -> Mapping[Context, Evidence]:
    """A round's greedy answers by the length of their prompts, [answers], each length that was asked as a stream of its
    own: its probe set has the length added. Scores are bet on against the endpoint's own past (Null.LAWFUL_MEAN)."""
    contexts = np.where(prompt_tokens >= LONG_FROM, Context.LONG, Context.SHORT)
    found = {}
    for context in Context:
        which = contexts == context
        if which.any():
            key = stream._replace(probe_set=f"{stream.probe_set}/{context}")
            cost = int(prompt_tokens[which].sum() + (~np.isnan(margins[which])).sum())
            chosen = None if comparable is None else comparable[which]
            found[context] = _evidence(key, at, divergence(margins[which], chosen), int(which.sum()), cost)
    return found


def _evidence(stream: StreamKey, at: float, found: Divergence | None, n: int, cost: int) -> Evidence:
    if found is None:
        return Evidence(stream, at, Inapplicable("no token of the answers can be compared"), n, cost)
    return Evidence(stream, at, Scores(tuple(found.scores.tolist())), n, cost, (str(found),))


@dataclass(frozen=True, slots=True, eq=False)
class Growth:
    """shares: of tokens with d > 0.1 nat, in each part of the context [parts]; p: one-sided, that the share does not
    grow. It ranks causes and alarms nobody, for it takes tokens as independent."""

    shares: FloatArray
    p: float


def growth(margins: FloatArray, places: IntArray, edges: IntArray) -> Growth | None:
    """Does divergence grow with the place in the context? margins as for `divergence`; places: tokens before each,
    of the same shape; edges: between the parts, [parts − 1]. None where fewer than two parts have tokens, or all tokens
    are alike.

    The trend in proportions with the number of the part as its score: z = Σ xᵢ (sᵢ − s̄) / √(x̄ (1 − x̄) Σ (sᵢ − s̄)²)
    (Armitage 1955).
    """
    from scipy.special import ndtr

    known = ~np.isnan(margins)
    part = np.digitize(places[known], edges)
    counted = margins[known] > COUNTED_FROM
    asked = np.bincount(part, minlength=edges.size + 1)
    rate, centred = counted.mean() if counted.size else 0.0, part - part.mean() if part.size else part
    spread = rate * (1.0 - rate) * (centred**2).sum()
    if not spread:
        return None
    with np.errstate(invalid="ignore"):
        shares = np.bincount(part, weights=counted, minlength=edges.size + 1) / asked
    return Growth(np.asarray(shares), float(ndtr(-(counted * centred).sum() / np.sqrt(spread))))

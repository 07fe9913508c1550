"""One model at several providers, without a reference: which of them differs from the others?

The same prompts go to all; each provider's answer to a prompt is held against the median of the others'. What is found
is that one *differs from the others*, never that it is wrong: where most run fp8, the honest bf16 host is the one that
differs.

The null of a provider is that on each prompt, whatever was found on the others, its distance over a tolerance takes
every rank among all providers' distances with the same chance, or a lower one. Its rank sum over prompts then has an
exact bound (Friedman 1937). What lawful stacks differ by in how they round has to be within the tolerance: such a
difference is there on every prompt, and without it enough prompts would prove anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from monitor.drift.camps import CampTest, camps
from monitor.drift.common_tokens import Alike, Answer, Table, common_logprobs, common_shares
from monitor.drift.evidence import Combining, Evidence, ExactP, Inapplicable, Null, StreamKey
from monitor.drift.observation import FloatArray
from monitor.drift.resplit import Deals, upper_tail
from monitor.drift.rule import LAWFUL_SHIFT, SUSPECT_P, holm

FEWEST_PROVIDERS = 4
FEWEST_PROMPTS = 8
# Times as far as the others that a provider may be.
TOLERANCE = 1.5
# Of total variation, what is nothing, however sure.
LAWFUL_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class Placed:
    """A provider beside the others. distance: from their median, mean over prompts; ratio: to the median provider's; p:
    adjusted for all providers (Holm)."""

    provider: str
    distance: float
    ratio: float
    p: float
    differs: bool


@dataclass(frozen=True, slots=True)
class Consensus:
    """Providers by name. camps: two groups that agree within themselves and not with each other, neither of which is
    small enough to be called the one that differs; None where there are none. left_out: who cannot be compared, why."""

    placed: tuple[Placed, ...]
    camps: CampTest | None
    unit: str
    prompts: int
    left_out: Mapping[str, str]

    @property
    def differing(self) -> tuple[str, ...]:
        return tuple(one.provider for one in self.placed if one.differs)

    def __str__(self) -> str:
        if self.camps is not None:
            one, other = (", ".join(names) for names in self.camps.members)
            apart = f"{self.camps.ratio:.1f} times as far as within themselves"
            return f"two camps differ from each other ({one}; {other}), {apart}: none is named"
        said = [
            f"{one.provider} differs from the others by {one.distance:.3f} {self.unit}, "
            f"{one.ratio:.1f} times what the median provider does (p {one.p:.2g})"
            for one in self.placed
            if one.differs
        ]
        return "; ".join(said) or f"none of {len(self.placed)} providers differs from the others"

    def evidence(self, key: StreamKey, provider: str, at: float) -> Evidence:
        """For the stream of this provider's endpoint. A difference of providers is there in every round: rounds are
        averaged. Raises KeyError for a provider that was not asked."""
        if provider in self.left_out:
            return Evidence(key, at, Inapplicable(self.left_out[provider]))
        if self.camps is not None:
            return Evidence(key, at, Inapplicable(str(self)), self.prompts)
        p = {one.provider: one.p for one in self.placed}[provider]
        says = ExactP(p, Null.EXCHANGEABLE, Combining.AVERAGE)
        return Evidence(key, at, says, self.prompts, reasons=(str(self),))


def of_logprobs(
    answers: Mapping[str, Mapping[str, Sequence[Mapping[bytes, float]]]], *, alpha: float = SUSPECT_P
) -> Consensus | Inapplicable:
    """answers: provider → prompt → its answers, each token → log-probability in nats. Distances are mean |Δ| a token.

    Of a prompt only those tokens count that every answer lists, so that one with 5 alternatives is compared as one with
    20, and as many answers of each provider as of the one with the fewest.
    """
    return _found(answers, common_logprobs, "nat", LAWFUL_SHIFT, alpha)


def of_draws(
    draws: Mapping[str, Mapping[str, Sequence[bytes]]], *, alpha: float = SUSPECT_P
) -> Consensus | Inapplicable:
    """draws: provider → prompt → first tokens, of which as many count of each provider as of the one with the fewest.
    Distances are total variation."""
    return _found(draws, common_shares, "of the draws", LAWFUL_SHARE, alpha)


def _found(
    answers: Mapping[str, Mapping[str, Sequence[Answer]]], alike: Alike[Answer], unit: str, lawful: float, alpha: float
) -> Consensus | Inapplicable:
    if not 0.0 < alpha < 1.0:
        raise ValueError(f"alpha is a chance in (0, 1), and this is {alpha}")
    providers, left_out = sorted(answers), dict[str, str]()
    prompts = sorted({prompt for given in answers.values() for prompt in given})
    while len(providers) >= FEWEST_PROVIDERS:
        tables = _tables(answers, alike, providers, prompts)
        if len(tables) >= FEWEST_PROMPTS:
            return _judged(providers, tables, unit, lawful, alpha, left_out)
        least = _least_alike(answers, alike, providers, prompts)
        left_out[least] = f"with {least} only {len(tables)} prompts can be compared, and {FEWEST_PROMPTS} are needed"
        providers.remove(least)
    return Inapplicable(_too_few(len(answers), left_out))


def _too_few(asked: int, left_out: Mapping[str, str]) -> str:
    if asked < FEWEST_PROVIDERS:
        return f"consensus is of {FEWEST_PROVIDERS} providers of one model at least, and these are {asked}"
    return f"fewer than {FEWEST_PROVIDERS} of {asked} providers can be compared: {'; '.join(left_out.values())}"


def _tables(
    answers: Mapping[str, Mapping[str, Sequence[Answer]]],
    alike: Alike[Answer],
    providers: Sequence[str],
    prompts: Sequence[str],
) -> list[Table]:
    """Of the prompts that all of them answered comparably."""
    found = (alike([answers[provider].get(prompt, ()) for provider in providers]) for prompt in prompts)
    return [table for table in found if table is not None]


def _least_alike(
    answers: Mapping[str, Mapping[str, Sequence[Answer]]],
    alike: Alike[Answer],
    providers: Sequence[str],
    prompts: Sequence[str],
) -> str:
    """Without whom most prompts can be compared; where that is no matter, with whom fewest were answered."""

    def without(provider: str) -> tuple[int, int]:
        others = [one for one in providers if one != provider]
        return len(_tables(answers, alike, others, prompts)), -sum(map(len, answers[provider].values()))

    return max(providers, key=without)


def _judged(
    providers: Sequence[str],
    tables: Sequence[Table],
    unit: str,
    lawful: float,
    alpha: float,
    left_out: Mapping[str, str],
) -> Consensus:
    distances = np.stack([_to_others(table) for table in tables])
    p = holm(dict(zip(providers, rank_sums(distances), strict=True)))
    found = camps(providers, tables, lawful, TOLERANCE)
    means = distances.mean(axis=0)
    placed = []
    for place, provider in enumerate(providers):
        usual = float(np.median(np.delete(means, place)))
        ratio = float(means[place]) / usual if usual > 0.0 else (np.inf if means[place] > 0.0 else 1.0)
        beyond = means[place] > lawful and ratio >= TOLERANCE
        differs = found is None and beyond and p[provider] <= alpha
        placed.append(Placed(provider, float(means[place]), float(ratio), p[provider], bool(differs)))
    return Consensus(
        tuple(placed), found if found is not None and found.p <= alpha else None, unit, len(tables), dict(left_out)
    )


def _to_others(table: Table) -> FloatArray:
    """Each provider's distance from the median of the others, shape [providers]."""
    m = len(table.values)
    centres = np.stack([np.median(np.delete(table.values, place, axis=0), axis=0) for place in range(m)])
    return np.asarray(table.weight * np.abs(table.values - centres).sum(axis=1))


def rank_sums(distances: FloatArray) -> list[float]:
    """P(each provider's rank sum, or a larger one); distances [prompts, providers], each over the tolerance when it is
    ranked. Of equal distances none is the larger one."""
    prompts, m = distances.shape
    own = distances[:, :, np.newaxis] / TOLERANCE
    ranks = (distances[:, np.newaxis, :] < own * (1.0 - 1e-9)).sum(axis=2)
    uniform = Deals(np.arange(m), np.full(m, 1.0 / m))
    return [upper_tail(int(total), [uniform] * prompts) for total in ranks.sum(axis=0)]

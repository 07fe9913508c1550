"""A run's border inputs (T2): what its first tokens are found to be against those of enrolment, and what streams are
told."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from monitor.drift.border_scores import BorderInput, BorderInputs, First, border_evidence
from monitor.drift.border_stages import Enrolling, FirstTokens
from monitor.drift.evidence import Evidence, Inapplicable, Scores, StreamKey, Tier
from monitor.drift.findings import Finding
from monitor.drift.material import without_cached
from monitor.drift.observation import Observation
from monitor.drift.resplit import Deals, dealt, upper_tail
from monitor.drift.rule import Verdict, judge
from probes.border import COLD, HOT

# Of an endpoint that has no border inputs, or none yet.
NONE = "border"
# So many of a run's answers may be anything at all: days differ, a tenth of the first tokens are others on a usual day,
# and more than this on one day in some thousands (Beta(4, 36), DETECTION.md §3, G3).
LAWFUL_SHARE = 0.3
_UNSAID = "border inputs: no answer had a first token"
# Scores are rounded to so many steps for the exact test.
_STEPS = 200


@dataclass(frozen=True, slots=True)
class Border:
    """What a run's first tokens are found to be, and what streams are told; evidence has no time yet: that is the
    run's. `inputs`: those of enrolment, None while there are none."""

    finding: Finding
    evidence: tuple[Evidence, ...]
    inputs: BorderInputs | None = None


def assess_border(
    endpoint: str, asked: BorderInputs | Enrolling, new: Sequence[Observation], *, shares: int = 1, tokens: int = 0
) -> Border:
    """asked: what the run was for; shares: of the check's error; tokens: what its answers cost."""
    key = StreamKey(endpoint, Tier.BORDER, NONE)
    if isinstance(asked, Enrolling):
        if isinstance(asked.found, Inapplicable):
            finding = Finding(Verdict.INAPPLICABLE, asked.found.reason, unit="rate", n=len(new))
            return Border(finding, (Evidence(key, 0.0, asked.found, len(new), tokens),))
        return Border(Finding(Verdict.INCONCLUSIVE, asked.said, unit="rate", n=len(new)), ())
    firsts = [First(one.item_key.removeprefix(COLD), one.sampled) for one in without_cached(new)]
    if not firsts:
        return Border(Finding(Verdict.INCONCLUSIVE, "no answer to a border input came", unit="rate"), (), asked)
    told = border_evidence(asked, key._replace(probe_set=asked.probe_set), 0.0, firsts, tokens=tokens)
    if isinstance(told.says, Scores):
        return Border(_finding(asked, firsts, told.says, shares), (told,), asked)
    return Border(Finding(Verdict.INAPPLICABLE, _UNSAID, unit="rate", n=len(firsts)), (told,), asked)


def first_tokens(observations: Iterable[Observation]) -> FirstTokens:
    """Of an endpoint's runs, in the order in which they were made; of an answer that a cache gave again the first."""
    cold: dict[str, list[bytes | None]] = {}
    hot: dict[str, list[bytes | None]] = {}
    for one in without_cached(list(observations)):
        for mark, answers in ((COLD, cold), (HOT, hot)):
            if one.item_key.startswith(mark):
                answers.setdefault(one.item_key.removeprefix(mark), []).append(one.sampled)
    return FirstTokens(cold, hot)


def border_p(asked: BorderInputs, firsts: Iterable[First], lawful: float = LAWFUL_SHARE) -> float:
    """p that the answers score as high as they do while no more than the `lawful` share of them is others, whatever
    those are. The rest is dealt out anew among the answers of enrolment, prompt by prompt, scored by all of them
    together: exact where all could change places."""
    inputs = {one.prompt: one for one in asked.inputs}
    dealing: list[Deals] = []
    observed = 0
    for prompt, tokens in _by_prompt(firsts).items():
        scores, seen = _pooled(inputs[prompt], tokens)
        dealing.append(_contaminated(scores, len(tokens), lawful))
        observed += seen
    return upper_tail(observed, dealing)


def _finding(asked: BorderInputs, firsts: Sequence[First], says: Scores, shares: int) -> Finding:
    p, expected = border_p(asked, firsts), _expected(asked, firsts)
    adjusted = min(1.0, shares * p)
    verdict = judge(adjusted, beyond_lawful=True, detectable=math.inf, target=0.0)
    reason = f"{len(says.scores)} first tokens, each scored by how much rarer it was at enrolment than the commonest"
    if verdict is Verdict.INCONCLUSIVE:
        reason += "; a run shows a gross change alone, many together are judged by their streams"
    n, moved = len(says.scores), says.mean - expected
    return Finding(verdict, reason, value=moved, unit="rate", baseline=expected, p=p, adjusted_p=adjusted, n=n)


def _by_prompt(firsts: Iterable[First]) -> dict[str, list[bytes]]:
    found: dict[str, list[bytes]] = {}
    for one in firsts:
        if one.token is not None:
            found.setdefault(one.prompt, []).append(one.token)
    return found


@lru_cache(maxsize=1_024)
def _contaminated(scores: tuple[int, ...], answers: int, share: float) -> Deals:
    """Of so many answers each is, with this chance, as bad as can be; the others are dealt."""
    from scipy.stats import binom

    values = np.array(scores, dtype=np.int64)
    mass = np.zeros(answers * _STEPS + 1)
    for bad, chance in enumerate(binom.pmf(np.arange(answers + 1), answers, share).tolist()):
        rest = dealt(values, answers - bad)
        mass[bad * _STEPS + rest.values] += chance * rest.chances
    return Deals(np.arange(mass.size), mass)


def _pooled(enrolled: BorderInput, tokens: Sequence[bytes]) -> tuple[tuple[int, ...], int]:
    """The scores of all answers to a prompt on the lattice, and what those of now add up to."""
    counts = dict(zip(enrolled.tokens, enrolled.counts, strict=True))
    for token in tokens:
        counts[token] = counts.get(token, 0) + 1
    most = max(counts.values())
    score = {token: round(_STEPS * (1.0 - count / most)) for token, count in counts.items()}
    scores = sorted(score[token] for token, count in counts.items() for _ in range(count))
    return tuple(scores), sum(score[token] for token in tokens)


def _expected(asked: BorderInputs, firsts: Iterable[First]) -> float:
    """The mean score of the answers of enrolment, over the prompts as often as they were asked."""
    means = {one.prompt: _mean(one) for one in asked.inputs}
    return float(np.mean([means[one.prompt] for one in firsts if one.token is not None]))


def _mean(enrolled: BorderInput) -> float:
    scores = [enrolled.score(token) for token in enrolled.tokens]
    return float(np.average(scores, weights=enrolled.counts))

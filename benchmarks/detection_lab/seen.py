"""What the tiers see of a changed stack of the lab, as sightings for the ranking of causes: from the stacks' own lists,
tokens and counts. `goals/g11.py` says what is simulated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.detection_lab.changes import CHANGES, UNCHANGED, Change
from benchmarks.detection_lab.distances import lt_statistics
from benchmarks.detection_lab.first_tokens import FirstTokens, FirstTokenStore
from benchmarks.detection_lab.goals import g6
from benchmarks.detection_lab.lawful import Lawful, listed
from benchmarks.detection_lab.prompts import openings
from benchmarks.detection_lab.stacks import rendered, tokenizer_of
from benchmarks.detection_lab.texts import Texts
from monitor.drift.accounting import CountTest, count_test
from monitor.drift.causes import fit
from monitor.drift.collisions import of_collisions
from monitor.drift.draws import NOT_LISTED, Draws
from monitor.drift.evidence import Factors, StreamKey, Tier
from monitor.drift.features import Feature
from monitor.drift.observation import Observation
from monitor.drift.run_sightings import of_draws
from monitor.drift.sampler import of_sampler
from monitor.drift.shift import ShiftTest, prepare, shift_test
from monitor.drift.sightings import Sighting

Floats = NDArray[np.float64]

LISTED, ANSWERS = 20, 2
RELABELLINGS = 199
ENROLLED_RUNS = 5
STREAM = StreamKey("endpoint", Tier.SAMPLING, "draws")


@dataclass(frozen=True, slots=True, eq=False)
class Lists:
    """The unchanged stack's first tokens, and those of all candidates at its tokens, [prompts, tokens]."""

    unchanged: FirstTokens
    candidates: Mapping[str, FirstTokens]

    @classmethod
    def of(cls, store: FirstTokenStore, names: Sequence[str], prompts: int) -> Lists:
        return cls(store.get(UNCHANGED, prompts), {name: store.get(CHANGES[name], prompts) for name in names})

    def distances(self) -> dict[str, float]:
        """Mean |Δ| of each candidate, nats."""
        return {name: float(lt_statistics(self.unchanged, one, LISTED).mean()) for name, one in self.candidates.items()}

    def observed(self, shown: FirstTokens, lawful: Lawful, rng: np.random.Generator, answers: int) -> list[Observation]:
        """So many noisy answers to each prompt, with what each candidate would have listed."""
        noise = lawful.drawn((len(shown.ids), answers, shown.ids.shape[1]), rng)
        found = listed(np.minimum(0.0, shown.logprobs[:, None] + noise), LISTED)
        return [
            self._observation(prompt, answer, shown.ids[prompt], found[prompt, answer])
            for prompt in range(len(found))
            for answer in range(answers)
        ]

    def _observation(self, prompt: int, rep: int, ids: NDArray[np.int32], found: Floats) -> Observation:
        places = np.flatnonzero(np.isfinite(found))
        reference = self.unchanged.ids[prompt, :LISTED]
        every = {UNCHANGED.name: self.unchanged, **self.candidates}
        return Observation(
            item_key=f"prompt-{prompt}",
            rep=rep,
            anchor=True,
            tokens=tuple(b"%d" % ids[place] for place in places),
            logprobs=found[places],
            sampled=None,
            reference_tokens=tuple(b"%d" % id_ for id_ in reference),
            expected={name: one.at_unchanged[prompt, :LISTED] for name, one in every.items()},
            prompt_tokens=None,
            expected_prompt_tokens=None,
            response_id=None,
        )


def moved(before: Sequence[Observation], now: Sequence[Observation], seed: int) -> ShiftTest | None:
    """None where nothing can be compared."""
    prepared = prepare(before, now, None, ())
    return None if prepared is None else shift_test(prepared, len(now), seed=seed, count=RELABELLINGS)


def gains(now: Sequence[Observation], candidates: Sequence[str]) -> dict[str, float]:
    """By how many nats each candidate explains the lists better than the unchanged stack: of normal residuals of its
    own scale, one value a prompt, as the run's causes are ranked."""
    scales = fit(now, (UNCHANGED.name, *candidates))
    prompts = len({one.item_key for one in now})
    return {name: prompts * float(np.log(scales[UNCHANGED.name] / scales[name])) for name in candidates}


def repeats(now: Sequence[Observation]) -> Sighting:
    """Whether any prompt's answers differ."""
    kinds: dict[str, set[bytes]] = {}
    for one in now:
        kinds.setdefault(one.item_key, set()).add(one.logprobs.tobytes())
    same = all(len(each) == 1 for each in kinds.values())
    return Sighting.certain(Feature.REPEATS, "none" if same else "same", 0.9)


def counted(change: Change, prompts: int) -> CountTest | None:
    """Prompt tokens of the changed stack beside those of five runs of the unchanged one."""
    before, now = (_counts(one, prompts) for one in (UNCHANGED, change))
    past = [_usage(prompt, count, count) for count_of in [before] * ENROLLED_RUNS for prompt, count in count_of.items()]
    return count_test(past, [_usage(prompt, now[prompt], before[prompt]) for prompt in now], count=9_999)


def _counts(change: Change, prompts: int) -> dict[str, int]:
    asked = openings(prompts)
    return dict(zip(asked, map(len, rendered(tokenizer_of(change), change, asked)), strict=True))


def _usage(prompt: str, tokens: int, expected: int) -> Observation:
    return Observation(prompt, 0, True, (), np.empty(0), None, (), {}, tokens, expected, None)


def greedy(texts: Texts, lawful: float, rng: np.random.Generator) -> Sighting:
    """Mismatches of greedy answers beyond the lawful share, over the answers drawn anew."""
    margins = texts.margins[rng.integers(len(texts.margins), size=len(texts.margins))]
    known = margins[~np.isnan(margins)]
    mismatched = int((known > 0).sum())
    error = 100.0 * float(np.sqrt(mismatched + 1.0)) / known.size
    return Sighting.sized(Feature.GREEDY, 100.0 * (mismatched / known.size - lawful), error)


def draws_of(p: Floats, shown: Floats, each: int, rng: np.random.Generator) -> Draws:
    """`each` draws of every prompt from p, beside the 20 likeliest of what is shown; [prompts, tokens] falling."""
    prompts = np.repeat(np.arange(len(p)), each)
    ids = np.concatenate([rng.choice(p.shape[1], each, p=row / row.sum()) for row in p])
    return g6.drawn_from(shown, np.where(ids < g6.LISTED, ids, NOT_LISTED), prompts, ids)


def copies_of(p: Floats, each: int, rng: np.random.Generator) -> Draws:
    """The first draw of every prompt, again and again."""
    first = np.array([rng.choice(p.shape[1], p=row / row.sum()) for row in p])
    ids = np.repeat(first, each)
    prompts = np.repeat(np.arange(len(p)), each)
    return g6.drawn_from(p, np.where(ids < g6.LISTED, ids, NOT_LISTED), prompts, ids)


def sampled(draws: Draws) -> list[Sighting]:
    """What draws say of copies, and of the sampler; answers that are all alike are no draws."""
    copied = of_collisions(STREAM._replace(probe_set="copies"), 0.0, draws)
    if not isinstance(copied.says, Factors):
        return []
    alike = all(len(set(draws.ids[draws.prompts == prompt].tolist())) == 1 for prompt in np.unique(draws.prompts))
    return of_draws([copied] if alike else [copied, of_sampler(STREAM, 0.0, draws)])

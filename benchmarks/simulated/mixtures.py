"""Several stacks behind one endpoint, and one model at several providers: what is found, and how often wrongly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.simulated.figure import Figure, share
from benchmarks.simulated.fleets import Backends, Lawful, hour, provided, routed_tokens
from benchmarks.simulated.rounds import EPOCH_DAYS, HOURS, Scores
from monitor.drift.consensus import Consensus, of_logprobs
from monitor.drift.fleet import Fleet
from monitor.drift.mixtures import Mixture, mixture
from monitor.drift.routing import PROVEN, Tracked, tracked
from monitor.drift.token_mixtures import TokenMixture, token_mixture

ALPHA = 0.01
INT8, FP8, BF16 = 0.071, 0.154, 0.045
ANSWERS = 100
HARD = {
    "normal": Lawful(0.03),
    "Student's t of 3 degrees": Lawful(0.03, tails=3.0),
    "days off by the noise, of uneven noise": Lawful(0.03, daily=0.03, uneven=0.5),
    "both": Lawful(0.03, tails=3.0, daily=0.03, uneven=0.5),
}
_BEFORE = 36


@dataclass(frozen=True)
class Found:
    """Of endpoints with several stacks: how many stacks were found, whether the smallest one's interval holds its share
    (of those with the right number), and the share of answers given to their own stack."""

    stacks: Scores
    covered: Scores
    right: Scores


def one_stack(lawful: Lawful, endpoints: int, *, seed: int = 0) -> list[bool]:
    """Whether more than one was found, of endpoints with one."""
    rng = np.random.default_rng(seed)
    return [len(_mixed(rng, lawful, [1.0])[0].stacks) > 1 for _ in range(endpoints)]


def several(chances: Sequence[float], noise: float, endpoints: int, *, answers: int = ANSWERS, seed: int = 0) -> Found:
    """chances: of the stacks, the largest first; further stacks are int8's distance away, at normal noise."""
    rng = np.random.default_rng(seed)
    stacks, covered, right = [], [], []
    for _ in range(endpoints):
        found, truth = _mixed(rng, Lawful(noise), chances, answers)
        stacks.append(len(found.stacks))
        if len(found.stacks) == len(chances):
            interval = found.stacks[-1].interval
            covered.append(interval.low <= chances[-1] <= interval.high)
            right.append(np.mean([_agree(found.of[prompt], truth[prompt]) for prompt in truth]))
    return Found(np.array(stacks), np.array(covered), np.array(right))


def _agree(of: Scores, truth: np.ndarray) -> float:
    """The share of one prompt's answers that are given to their own stack, by the best naming of the stacks."""
    from scipy.optimize import linear_sum_assignment

    table = np.zeros((of.shape[1], of.shape[1]))
    np.add.at(table, (np.argmax(of, axis=1), truth), 1.0)
    return float(table[linear_sum_assignment(-table)].sum() / truth.size)


def _mixed(
    rng: np.random.Generator, lawful: Lawful, chances: Sequence[float], answers: int = ANSWERS
) -> tuple[Mixture, dict[str, np.ndarray]]:
    asked, truth = Backends.of(rng, len(chances), INT8).asked(rng, lawful, chances, answers)
    found = mixture(asked, lawful.noise)
    assert isinstance(found, Mixture)
    return found, truth


@dataclass(frozen=True)
class Watched:
    """Of enrolled endpoints' epochs: what was said at the end, and rounds from the change to each claim, infinite where
    it was not made; dated: by how many rounds the likeliest first one is off."""

    said: tuple[Tracked, ...]
    routing: Scores
    new: Scores
    dated: Scores


def watched(now: Sequence[float], endpoints: int, *, hours: int = EPOCH_DAYS * HOURS, seed: int = 0) -> Watched:
    """Endpoints enrolled with two stacks of 70 % and 30 %, asked 8 prompts an hour; from hour `_BEFORE` on `now` are
    the chances of these and of a stack that was not met."""
    rng = np.random.default_rng(seed)
    lawful = Lawful(0.03)
    said, routing, new, dated = [], [], [], []
    for _ in range(endpoints):
        backends = Backends.of(rng, 3, INT8, prompts=8)
        enrolled, _ = backends.asked(rng, lawful, [0.7, 0.3, 0.0], ANSWERS)
        found = mixture(enrolled, lawful.noise)
        assert isinstance(found, Mixture)
        fleet = Fleet.of(found, enrolled)
        chances = [[0.7, 0.3, 0.0] if place < _BEFORE else now for place in range(hours)]
        rounds = [fleet.round(hour(place), backends.round(rng, lawful, one)) for place, one in enumerate(chances)]
        end = tracked(fleet, rounds, horizon=EPOCH_DAYS * HOURS)
        said.append(end)
        routing.append(_delay(end.routing[1].onset.detected if end.routing else np.inf))
        new.append(_delay(end.new_backend.onset.detected if end.new_backend else np.inf))
        dated += [abs(_delay(one.onset.first) - 1) for one in (end.routing and end.routing[1], end.new_backend) if one]
    return Watched(tuple(said), np.array(routing), np.array(new), np.array(dated))


def _delay(at: float) -> float:
    """Rounds from the change, the first one after it is 1."""
    return at / hour(1) - _BEFORE + 1 if np.isfinite(at) else np.inf


def named(shifts: Sequence[Sequence[float]], times: int, *, rounding: float = BF16, seed: int = 0) -> list[Consensus]:
    rng = np.random.default_rng(seed)
    found = [of_logprobs(provided(rng, shifts, rounding)) for _ in range(times)]
    return [one for one in found if isinstance(one, Consensus)]


def tokens_apart(share_of: float, endpoints: int, *, visits: int = ANSWERS, seed: int = 0) -> list[TokenMixture]:
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(endpoints):
        given, block, _ = routed_tokens(rng, share_of, visits)
        one = token_mixture(given, block)
        assert isinstance(one, TokenMixture)
        found.append(one)
    return found


def mixture_figures(scale: float, seed: int) -> Iterator[Figure]:
    def times(most: int) -> int:
        return max(20, round(most * scale))

    for name, lawful in HARD.items():
        yield share(f"one stack, {name}: two found", one_stack(lawful, times(600), seed=seed), ALPHA, "α")
    yield from _several_figures(times(200), seed)
    yield from _token_figures(times(400), seed)
    yield from _watched_figures(times(100), seed)
    yield from _named_figures(times(400), seed)


def _several_figures(times: int, seed: int) -> Iterator[Figure]:
    for chances, noise in (([0.5, 0.5], 0.03), ([0.7, 0.3], 0.03), ([0.9, 0.1], 0.03), ([0.7, 0.3], 0.06)):
        what = (
            f"{' and '.join(f'{one:.0%}' for one in chances)}, int8 apart, noise {noise:g} nat, 3 × {ANSWERS} answers"
        )
        found = several(chances, noise, times, seed=seed)
        yield Figure(f"{what}: two stacks found ({times})", float(np.mean(found.stacks == 2)), "")
        yield Figure(f"{what}: answers given to their own stack", float(found.right.mean()), "")
        yield share(f"{what}: the 95 % interval misses the share", ~found.covered.astype(bool), 0.05, "95 %")
    three = several([0.5, 0.3, 0.2], 0.03, times, answers=2 * ANSWERS, seed=seed)
    yield Figure(
        f"three stacks, 3 × {2 * ANSWERS} answers: three found ({times})", float(np.mean(three.stacks == 3)), ""
    )
    yield Figure("three stacks: four found", float(np.mean(three.stacks > 3)), "")


def _token_figures(times: int, seed: int) -> Iterator[Figure]:
    still = tokens_apart(0.0, times, seed=seed)
    yield share("first tokens, one stack, days that differ: two found", [one.p <= ALPHA for one in still], ALPHA, "α")
    for chance in (0.5, 0.3, 0.1):
        found = tokens_apart(chance, max(20, times // 4), seed=seed)
        what = f"first tokens, {chance:.0%} another stack, {ANSWERS} visits of 10 prompts: two found"
        yield Figure(f"{what} ({len(found)})", float(np.mean([one.p <= ALPHA for one in found])), "")


def _watched_figures(times: int, seed: int) -> Iterator[Figure]:
    still = watched([0.7, 0.3, 0.0], times, seed=seed)
    for what, claims in (("routing", still.routing), ("new backend", still.new)):
        yield share(f"70 % and 30 % for 30 days: {what} said", np.isfinite(claims), 1.0 / PROVEN, "α")
    moved = watched([0.45, 0.55, 0.0], max(20, times // 4), hours=240, seed=seed)
    yield Figure("30 % become 55 %: median rounds of 8 answers to routing", float(np.median(moved.routing)), "rounds")
    yield Figure("the same: median error of the date", float(np.median(moved.dated)), "rounds")
    for part in (0.3, 0.1):
        came = watched([0.7 * (1 - part), 0.3 * (1 - part), part], max(20, times // 4), hours=240, seed=seed)
        what = f"a new stack answers {part:.0%}: median rounds to new backend"
        yield Figure(what, float(np.median(came.new)), "rounds")
        yield Figure("the same: routing said", float(np.mean(np.isfinite(came.routing))), "")


def _named_figures(times: int, seed: int) -> Iterator[Figure]:
    still = named([[]] * 5, times, seed=seed)
    yield share("five bf16 providers: any differs", [bool(one.differing) for one in still], ALPHA, "α")
    fewer = max(20, times // 4)
    for rounding in (0.02, BF16):
        one_int8 = named([[INT8], [], [], [], []], fewer, rounding=rounding, seed=seed)
        what = f"int8 among four that round by {rounding:g} nat, 20 prompts: it alone differs ({fewer})"
        yield Figure(what, float(np.mean([one.differing == ("provider 0",) for one in one_int8])), "")
    honest = named([[], [FP8], [FP8], [FP8], [FP8]], fewer, seed=seed)
    what = "one bf16 among fp8: the bf16 provider differs from the others"
    yield Figure(what, float(np.mean([one.differing == ("provider 0",) for one in honest])), "")
    half = named([[FP8], [FP8], [FP8], [], [], []], fewer, seed=seed)
    yield Figure("three fp8 and three bf16: two camps", float(np.mean([one.camps is not None for one in half])), "")
    yield Figure("the same: any named", float(np.mean([bool(one.differing) for one in half])), "", 0.0, "none")

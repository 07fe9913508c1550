"""Border inputs found on an endpoint that is asked round by round."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.drift.border import ASKS, CANDIDATES, FEWEST, KEPT, SCREENED, SCREENING_ASKS
from monitor.drift.border_scores import BorderInput, BorderInputs
from monitor.drift.border_stages import Enrolling, FirstTokens, enrolling, watching, within
from monitor.drift.evidence import Inapplicable
from probes.border import Ask

ORDER = [f"prompt-{number:03}" for number in range(SCREENED)]
MOST = 200
asks = st.lists(st.builds(Ask, st.uuids().map(str), st.integers(1, 120)), max_size=20, unique_by=lambda ask: ask.prompt)


def near_tied(share: float = 0.15) -> Callable[[np.random.Generator, str, bool], bytes | None]:
    """Of an endpoint whose first token is one of two, 30 to 70 %, in that share of the prompts."""

    def answer(rng: np.random.Generator, prompt: str, hot: bool) -> bytes | None:
        own = int(hashlib.sha256(prompt.encode()).hexdigest(), 16)
        if hot:
            return b"%d" % rng.integers(0, 12)
        tied = own % 1000 < 1000 * share
        other = tied and rng.random() < 0.3 + 0.4 * (own % 97) / 97
        return b"%d" % (own % 7 + 7 * other)

    return answer


@dataclass
class Endpoint:
    answer: Callable[[np.random.Generator, str, bool], bytes | None]
    cold: dict[str, list[bytes | None]] = field(default_factory=dict)
    hot: dict[str, list[bytes | None]] = field(default_factory=dict)
    asked: Counter[bool] = field(default_factory=Counter)
    said: list[str] = field(default_factory=list)
    refuses: frozenset[str] = frozenset()
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(1))

    def enrol(self, order: Sequence[str] = ORDER, most: int = MOST) -> Enrolling:
        for _ in range(80):
            now = enrolling(order, FirstTokens(self.cold, self.hot))
            self.said.append(now.said)
            if now.found is not None:
                return now
            for ask in within(now.asks, most):
                self._ask(ask)
        raise AssertionError(self.said[-1])

    def _ask(self, ask: Ask) -> None:
        self.asked[ask.hot] += ask.times
        if ask.prompt not in self.refuses:
            side = self.hot if ask.hot else self.cold
            came = (self.answer(self.rng, ask.prompt, ask.hot) for _ in range(ask.times))
            side.setdefault(ask.prompt, []).extend(came)


def test_the_most_balanced_of_those_that_vary_are_enrolled_by_answers_that_chose_none_of_them() -> None:
    endpoint = Endpoint(near_tied())

    found = endpoint.enrol().found

    assert isinstance(found, BorderInputs)
    assert len(found.inputs) == KEPT
    varied = [prompt for prompt in ORDER if len({*endpoint.cold[prompt][:SCREENING_ASKS]}) > 1][:CANDIDATES]
    assert {one.prompt for one in found.inputs} <= {*varied}
    for one in found.inputs:
        later = Counter(endpoint.cold[one.prompt][SCREENING_ASKS:])
        assert dict(zip(one.tokens, one.counts, strict=True)) == later
        assert sum(one.counts) >= ASKS
    worst = min(one.counts[1] / one.counts[0] for one in found.inputs)
    left_out = {*varied} - {one.prompt for one in found.inputs}
    others = (Counter(endpoint.cold[prompt][SCREENING_ASKS:]).most_common(2) for prompt in left_out)
    assert all(len(two) < 2 or two[1][1] / two[0][1] <= worst for two in others)
    assert endpoint.asked[True] == 0
    assert endpoint.asked[False] <= SCREENING_ASKS * SCREENED + ASKS * CANDIDATES
    assert [said.partition(":")[0] for said in endpoint.said if "screening" in said]


def test_the_same_answers_ask_for_the_same() -> None:
    one, other = Endpoint(near_tied()), Endpoint(near_tied())

    assert one.enrol() == other.enrol()
    assert one.said == other.said


def test_where_many_vary_it_is_asked_whether_temperature_0_is_taken() -> None:
    endpoint = Endpoint(near_tied(share=0.6))

    assert isinstance(endpoint.enrol().found, BorderInputs)
    assert endpoint.asked[True] > 0
    assert any("temperature 0" in said for said in endpoint.said)


def test_an_endpoint_that_draws_at_temperature_0_has_no_border_inputs() -> None:
    endpoint = Endpoint(lambda rng, prompt, hot: b"%d" % rng.integers(0, 6))

    found = endpoint.enrol().found

    assert isinstance(found, Inapplicable)
    assert "ignores temperature 0" in found.reason
    assert endpoint.asked[False] < SCREENING_ASKS * SCREENED + 1_000


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (near_tied(share=0.0), "none of 300 prompts varies"),
        (lambda rng, prompt, hot: b"Okay", "same token"),
        (lambda rng, prompt, hot: None, "no answer had a first token"),
        (near_tied(share=0.02), f"and {FEWEST} are needed"),
    ],
)
def test_an_endpoint_without_border_inputs_is_told_why(
    answer: Callable[[np.random.Generator, str, bool], bytes | None], reason: str
) -> None:
    done = Endpoint(answer).enrol()

    assert isinstance(done.found, Inapplicable)
    assert reason in done.found.reason
    assert done.asks == ()


def test_prompts_that_are_refused_hold_nothing_up() -> None:
    refused = frozenset(ORDER[:: len(ORDER) // 12])
    endpoint = Endpoint(near_tied(), refuses=refused)

    found = endpoint.enrol().found

    assert isinstance(found, BorderInputs)
    assert refused.isdisjoint(one.prompt for one in found.inputs)


def test_nothing_to_screen_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="no prompt"):
        enrolling([], FirstTokens())


@given(asks, st.integers(0, 500))
def test_a_round_takes_as_much_as_it_may_and_those_first_that_lack_most(wanted: list[Ask], most: int) -> None:
    taken = within(wanted, most)
    whole = {ask.prompt: ask.times for ask in wanted}
    got = {ask.prompt: ask.times for ask in taken}

    assert sum(got.values()) == min(most, sum(whole.values()))
    assert all(0 < times <= whole[prompt] for prompt, times in got.items())
    cut = [prompt for prompt in whole if got.get(prompt, 0) < whole[prompt]]
    assert all(got.get(one, 0) >= got.get(other, 0) - 1 for one in cut for other in whole)


@given(st.integers(1, 100), st.integers(1, 30), st.randoms(use_true_random=False))
def test_a_watching_round_asks_all_of_them_as_often_and_the_rest_by_chance(
    most: int, count: int, random: object
) -> None:
    inputs = BorderInputs(tuple(BorderInput(f"{place}", (b"a",), (100,)) for place in range(count)))

    def shuffled(prompts: Sequence[str]) -> list[str]:
        return sorted(prompts, key=lambda _: random.random())  # type: ignore[attr-defined]

    times = {ask.prompt: ask.times for ask in watching(inputs, most, shuffled)}

    assert sum(times.values()) == most
    assert all(most // count <= times.get(f"{place}", 0) <= most // count + 1 for place in range(count))

"""Many prompts at once: families that begin alike share their beginning, and no number depends on it."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from reference_engine.engine import Engine
from reference_engine.families import SHORTEST_SHARED, shared_beginnings

BEGINNINGS = ([40 + number % 17 for number in range(20)], [60 + number % 13 for number in range(25)], [])


@given(
    st.lists(st.tuples(st.sampled_from(BEGINNINGS), st.lists(st.integers(30, 90), min_size=1, max_size=6)), max_size=9)
)
def test_every_shared_beginning_is_that_of_two_prompts_and_leaves_each_a_token(
    parts: list[tuple[list[int], list[int]]],
) -> None:
    prompts = [[*beginning, *rest] for beginning, rest in parts]

    for beginning in shared_beginnings(prompts):
        having = [prompt for prompt in prompts if prompt[: len(beginning)] == list(beginning)]
        assert len(having) >= 2
        assert len(beginning) >= SHORTEST_SHARED
        assert all(len(prompt) > len(beginning) for prompt in having)


def test_prompts_that_begin_alike_have_one_shared_beginning() -> None:
    prompts = [[*BEGINNINGS[0], 1], [*BEGINNINGS[1], 2, 3], [*BEGINNINGS[0], 4, 5], [7], [*BEGINNINGS[1], 2, 9]]

    found = sorted(map(list, shared_beginnings(prompts)))

    assert found == sorted([list(BEGINNINGS[0]), [*BEGINNINGS[1], 2]])


@settings(max_examples=15, deadline=None)
@given(
    parts=st.lists(
        st.tuples(st.sampled_from(BEGINNINGS), st.lists(st.integers(30, 90), min_size=1, max_size=6)),
        min_size=1,
        max_size=6,
    )
)
def test_a_prompt_scores_the_same_alone_and_among_others(
    tiny_engine: Engine, parts: list[tuple[list[int], list[int]]]
) -> None:
    prompts = [[*beginning, *rest] for beginning, rest in parts]

    together = tiny_engine.next_tokens(prompts, top_k=5)

    assert together == [tiny_engine.next_tokens([prompt], top_k=5)[0] for prompt in prompts]

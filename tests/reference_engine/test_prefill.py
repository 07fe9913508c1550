"""Many prompts at once: families that begin alike share their beginning, and no number depends on it."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from reference_engine.engine import Engine
from reference_engine.prefill import _families

BEGINNINGS = ([40 + number % 17 for number in range(20)], [60 + number % 13 for number in range(25)], [])


@given(
    st.lists(st.tuples(st.sampled_from(BEGINNINGS), st.lists(st.integers(30, 90), min_size=1, max_size=6)), max_size=9)
)
def test_every_prompt_is_in_one_family_whose_beginning_it_has(parts: list[tuple[list[int], list[int]]]) -> None:
    prompts = [[*beginning, *rest] for beginning, rest in parts]

    families = _families(prompts)

    assert sorted(prompt.place for family, _ in families for prompt in family) == list(range(len(prompts)))
    for family, shared in families:
        assert all(list(prompt.ids[:shared]) == list(family[0].ids[:shared]) for prompt in family)
        assert all(len(prompt.ids) > shared for prompt in family)


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

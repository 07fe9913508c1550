from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from monitor.store.pages import pages


@given(st.lists(st.integers(), max_size=50), st.integers(min_value=1, max_value=60))
def test_pages_hold_everything_in_order_and_are_full_but_for_the_last(values: list[int], size: int) -> None:
    found = list(pages(values, size))

    assert [value for page in found for value in page] == values
    assert all(len(page) == size for page in found[:-1])
    assert all(0 < len(page) <= size for page in found)

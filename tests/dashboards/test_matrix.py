"""The matrix in pages: every endpoint on exactly one, a model's never apart from each other where they fit."""

from __future__ import annotations

from collections import defaultdict

from hypothesis import given, settings
from hypothesis import strategies as st

from dashboards.matrix import Cell, providers_of, rows, sheets
from dashboards.states import OK

MOST = 6


def cell(model: str, provider: str, name: str = "") -> Cell:
    return Cell(provider, model, name, (), OK)


cells = st.lists(st.builds(cell, st.sampled_from("abcdef"), st.sampled_from("123456789"), st.text("xy", max_size=2)))


@settings(max_examples=100)
@given(cells)
def test_every_cell_is_on_one_page_and_an_empty_place_is_empty_everywhere(given_cells: list[Cell]) -> None:
    found = sheets(given_cells, MOST)

    assert sorted(repr(one) for sheet in found for one in sheet) == sorted(map(repr, given_cells))
    assert all(0 < len(sheet) <= MOST for sheet in found)
    pages_of = defaultdict(set)
    for number, sheet in enumerate(found):
        for one in sheet:
            pages_of[one.model].add(number)
    for numbers in pages_of.values():
        assert len(numbers) == 1 or all(len({one.model for one in found[number]}) == 1 for number in numbers)


def test_whole_models_fill_a_page_and_one_too_large_has_pages_of_its_own() -> None:
    sizes = {"a": 2, "b": 4, "c": 1, "d": 7, "e": 1}
    made = [cell(model, f"provider-{number}") for model, size in sizes.items() for number in range(size)]
    pages = ["".join(one.model for one in sheet) for sheet in sheets(made, MOST)]
    assert pages == ["aabbbb", "c", "dddddd", "d", "e"]


def test_a_row_has_a_place_for_every_provider_of_its_page() -> None:
    page = [cell("lark", "acme"), cell("lark", "acme", "again"), cell("wren", "hooli")]
    assert providers_of(page) == ["acme", "hooli"]
    lark, wren = rows(page)
    assert [(provider, len(found)) for provider, found in lark.cells] == [("acme", 2), ("hooli", 0)]
    assert [(provider, len(found)) for provider, found in wren.cells] == [("acme", 0), ("hooli", 1)]

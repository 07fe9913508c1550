from __future__ import annotations

import pytest

from probes.tools.schemas import compiled, tool_schemas
from probes.wire.argument_schema import SchemaFault
from probes.wire.json_value import parse_exact_json
from tests.probes.tools.answers import BERTH, case, exactly

DATED = {"properties": {"day": {"type": "string", "format": "date"}}}


def test_a_verdict_names_the_first_fault_of_all() -> None:
    verdict = compiled(BERTH, formats=False).judge({"berth": "7", "colour": "red"})
    # By the keywords' names: additionalProperties comes before properties and required.
    assert verdict.fault == SchemaFault("", "additionalProperties", "", 3)


def test_the_first_fault_does_not_hang_on_how_the_schema_is_written() -> None:
    turned = dict(reversed(BERTH.items()))
    value = {"berth": "7", "colour": "red"}
    assert compiled(turned, formats=False).judge(value) == compiled(BERTH, formats=False).judge(value)


def test_what_fails_anyway_is_not_flagged_for_its_integers() -> None:
    assert not compiled(BERTH, formats=False).judge({"berth": "7", "vessel": "Petrel"}).int_as_float


def test_draft_7_stands_beside() -> None:
    verdict = compiled({"properties": {"n": {"prefixItems": [{"type": "integer"}]}}}, formats=False).judge({"n": ["x"]})
    assert verdict.fault is not None
    assert verdict.draft7


@pytest.mark.parametrize(
    ("text", "flagged"), [('{"berth": 7.0, "vessel": ""}', True), ('{"berth": 7, "vessel": ""}', False)]
)
def test_an_integer_written_as_a_float_passes_and_is_flagged(text: str, flagged: bool) -> None:
    verdict = compiled(BERTH, formats=False).judge(parse_exact_json(text))
    assert verdict.fault is None
    assert verdict.int_as_float is flagged


@pytest.mark.parametrize(("formats", "keyword"), [(False, None), (True, "format")])
def test_formats_are_asserted_where_the_case_says_so(formats: bool, keyword: str | None) -> None:
    fault = compiled(DATED, formats=formats).judge({"day": "soon"}).fault
    assert (fault and fault.keyword) == keyword


def test_a_schema_is_compiled_once() -> None:
    first, again = tool_schemas(case(exactly("book"))), tool_schemas(case(exactly("cancel")))
    assert first["book"] is again["book"] is first["cancel"]
    assert first["book"].requires
    assert not first["list"].requires


def test_nothing_is_fetched() -> None:
    schema = compiled({"properties": {"n": {"$ref": "https://schemas.invalid/n.json"}}}, formats=False)
    assert schema.judge({"n": 1}).fault is None

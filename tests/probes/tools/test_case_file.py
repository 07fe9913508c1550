from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probes.errors import CaseFileError
from probes.tools.case import Case, Category, ExpectedCall, Leaf, Oracle, Trigger
from probes.tools.case_file import MAX_LINE_BYTES, Entry, line_of, read_cases, write_cases
from tests.probes.tools.answers import case, exactly, request, tool

BOOK = case(exactly("book", berth=7, vessel="Petrel"))
LINE = {
    "category": "T1",
    "family": "berths",
    "request": request([tool("book")]),
    "oracle": {"trigger": "must", "calls": [{"name": "book", "args": {"/berth": {"match": "exact", "value": 7}}}]},
}
EVERYTHING = Case(
    Category.T14,
    "history",
    request([tool("book")], temperature=0.7),
    Oracle(
        Trigger.FREE,
        (
            ExpectedCall("book", {"/a~1b": Leaf("number", -0.0, 0.5), "/c": Leaf("any_of", ["x", None, 2**60])}),
            ExpectedCall("book", {}, open=True, example={"berth": 7, "vessel": "é"}),
        ),
        ordered=True,
        most_calls=2,
        finish=("stop", "tool_calls"),
        content=Leaf("regex", "KR-[0-9]+"),
        content_schema={"type": "object"},
        reasoning="absent",
        rejected=True,
        refusal_names=("tool_call_id",),
    ),
    anchor=True,
    reps=3,
    formats=True,
    tags=("weekly",),
)

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


def read(*lines: Any) -> list[Entry]:
    return list(
        read_cases(
            io.BytesIO(b"\n".join(line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines))
        )
    )


@pytest.mark.parametrize("written", [BOOK, EVERYTHING, case(trigger=Trigger.MUST_NOT)])
def test_what_is_written_is_read(written: Case) -> None:
    file = io.BytesIO()
    write_cases(file, [Entry(written, ("plain",), {"vars": {"a": 1.5}, "family_seed": "s"})])
    file.seek(0)
    (entry,) = read_cases(file)
    assert entry == Entry(written, ("plain",), {"vars": {"a": 1.5}, "family_seed": "s"})


@given(values, values)
@settings(max_examples=50)
def test_every_value_keeps_the_hash_of_its_case(value: Any, other: Any) -> None:
    written = case(ExpectedCall("book", {"/x": Leaf("exact", value)}), settings={"extra": other})
    (entry,) = read(line_of(Entry(written)).encode())
    assert entry.case.key == written.key


def test_the_order_of_a_requests_keys_is_kept() -> None:
    turned = {"z": 1, "messages": BOOK.request["messages"], "a": {"y": 1, "x": 2}, "tools": BOOK.request["tools"]}
    (entry,) = read(line_of(Entry(Case(Category.T1, "f", turned, BOOK.oracle))).encode())
    assert list(entry.case.request) == ["z", "messages", "a", "tools"]
    assert list(entry.case.request["a"]) == ["y", "x"]


def test_a_line_needs_only_what_makes_the_case() -> None:
    (entry,) = read(b"\xef\xbb\xbf" + json.dumps(LINE).encode() + b"\r\n\r\n")
    assert entry.case == Case(
        Category.T1, "berths", request([tool("book")]), Oracle(Trigger.MUST, (exactly("book", berth=7),))
    )
    assert entry.modes == ("stream", "plain")
    assert entry.meta == {}


def test_keys_that_are_not_ours_are_kept() -> None:
    (entry,) = read({**LINE, "difficulty": 3, "vars": {"x": []}})
    assert entry.meta == {"difficulty": 3, "vars": {"x": []}}


def with_oracle(**oracle: Any) -> dict[str, Any]:
    return {**LINE, "oracle": {**LINE["oracle"], **oracle}}  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"a": "' + b"x" * MAX_LINE_BYTES + b'"}', "longer than 4 MB"),
        (b"\xff", "not UTF-8"),
        (b"{", "not JSON"),
        (b'{"a": NaN}', "not JSON"),
        (b"[" * 300 + b"]" * 300, "not JSON"),
        ([LINE], "not a JSON object"),
        (b'{"family": "a", "family": "b"}', "the line says a key twice"),
        ({**LINE, "version": "2"}, "version is not 1"),
        ({**LINE, "probe_id": "0" * 64}, "not the hash of its content"),
        ({**LINE, "category": "T99"}, "category is one of T1"),
        ({**LINE, "modes": ["batch"]}, "modes are stream and plain"),
        ({**LINE, "reps": "5"}, "the type of reps"),
        ({**LINE, "reps": True}, "the type of reps"),
        ({**LINE, "tags": [1]}, "the type of tags"),
        ({key: value for key, value in LINE.items() if key != "oracle"}, "it has no oracle"),
        (with_oracle(trigger="maybe"), "trigger is one of must"),
        (with_oracle(ordered=True), "oracle has a key that means nothing"),
        (with_oracle(order="sorted"), "order is one of any, given"),
        (with_oracle(calls=["book"]), "the type of calls"),
        (with_oracle(calls=[{"args": {}}]), "it has no name"),
        (with_oracle(calls=[{"name": "book", "args": {}, "strict": True}]), "calls has a key"),
        (with_oracle(calls=[{"name": "book", "args": {"/a": {"value": 1}}}]), "it has no match"),
        (with_oracle(calls=[{"name": "book", "args": {"/a": {"match": "near"}}}]), "a match is one of"),
        (with_oracle(calls=[{"name": "book", "args": {"/a": {"match": "exact", "tol": 1}}}]), "a matcher has a key"),
        (with_oracle(calls=[{"name": "sink", "args": {}}]), "does not declare"),
    ],
)
def test_a_line_that_is_no_case_is_refused_by_its_number(line: Any, reason: str) -> None:
    with pytest.raises(CaseFileError, match=f"Line 3 is no tool-call case: .*{reason}"):
        read(line_of(Entry(BOOK)).encode(), b"", line)


def test_the_same_case_twice_is_refused_whatever_else_differs() -> None:
    with pytest.raises(CaseFileError, match=r"Line 2 .* the same case as line 1"):
        read(LINE, {**LINE, "reps": 9, "note": "again"})


def test_a_refusal_quotes_nothing_of_the_line() -> None:
    secret = "canary-item-000000"
    for line in (
        with_oracle(calls=[{"name": secret, "args": {}}]),
        {**LINE, "category": secret},
        {**LINE, secret: 1, "reps": secret},
    ):
        with pytest.raises(CaseFileError) as refusal:
            read(line)
        assert secret not in f"{refusal.value!r} {refusal.value} {refusal.value.remedy}"
        assert refusal.value.__cause__ is None


def test_lines_are_read_one_by_one() -> None:
    cases = read_cases(io.BytesIO(json.dumps(LINE).encode() + b"\n{"))
    assert next(cases).case.family == "berths"
    with pytest.raises(CaseFileError, match="Line 2"):
        next(cases)

"""Each format is read as it is documented; what cannot be an item is refused by its line and never quoted."""

from __future__ import annotations

import io
import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probes.errors import SuiteFileError
from probes.evals.formats import MAX_LINE_BYTES, Format, Reading, load_companion, read_items
from probes.evals.item import EvalItem, Grader, GraderKind
from probes.evals.tool_case import tool_case
from probes.tools.case import Leaf, Trigger
from probes.tools.matchers import compare

FILES = Path(__file__).parent / "files"
CANARY = "canary-of-an-item-51d0c4"


def items_of(name: str, reading: Reading | None = None) -> list[EvalItem]:
    with (FILES / name).open("rb") as file:
        return [numbered.item for numbered in read_items(file, reading)]


def companion(how: Format, name: str) -> Reading:
    with (FILES / name).open("rb") as file:
        return Reading(companion=load_companion(how, file))


def read(*lines: Any, reading: Reading | None = None) -> list[EvalItem]:
    texts = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    return [numbered.item for numbered in read_items(io.BytesIO(b"\n".join(texts)), reading)]


def kinds(items: list[EvalItem]) -> list[str]:
    return [item.grader.kind.value for item in items]


def test_k2vv() -> None:
    first, second, third = items_of("k2vv_samples.jsonl")
    assert [message["role"] for message in first.request["messages"]] == ["system", "user"]
    assert first.request["temperature"] == 0.6
    assert first.meta == {"stream": True, "model": "kimi-k2-0905-preview"}
    assert second.meta == {"dataset": "agent", "difficulty": 3}
    assert second.request["messages"][2]["tool_calls"][0]["function"]["arguments"] == '{"city": "Oslo"}'
    assert kinds([first, second, third]) == ["tool_calls"] * 3
    case = tool_case(first, reps=3)
    assert (case.oracle.trigger, case.oracle.calls, case.reps) == (Trigger.FREE, (), 3)


def test_minimax() -> None:
    letters, calls, story = items_of("minimax_sample.jsonl")
    assert (letters.grader, letters.expected) == (Grader(GraderKind.REGEX, {"absent": True}), "[\u0400-\u04ff]")
    assert (calls.grader.kind, calls.category, calls.meta["expected_tool_call"]) == ("tool_calls", "tool_calls", True)
    assert story.grader.kind is GraderKind.UNGRADED
    assert story.meta["check_type"] == ["repeat_n_gram"]
    assert set(story.request) == {"messages", "temperature", "top_p"}


def test_gpt_oss_with_its_tools() -> None:
    health, money, text = items_of("gpt_oss_cases.jsonl", companion(Format.GPT_OSS, "gpt_oss_tools.json"))
    assert [len(item.request["tools"]) for item in (health, money, text)] == [1, 1, 1]
    assert [message["role"] for message in money.request["messages"]] == ["system", "user"]
    assert text.meta == {"category": "markdown_to_html", "note": "kept"}
    (call,) = tool_case(money).oracle.calls
    assert (call.name, call.args[""]) == (
        "convert_currency",
        Leaf("exact", {"amount": 1024.5, "from": "NOK", "to": "CHF"}),
    )


def test_question_and_answer() -> None:
    jars, cork, gas, homer, marathon = items_of("lm_eval.jsonl")
    assert kinds([jars, cork, gas, homer, marathon]) == ["number", "choice", "choice", "normalised", "number"]
    assert (cork.expected, cork.category) == ("B", "physics")
    assert cork.request["messages"][0]["content"].endswith("B. cork\nC. quartz\n\nAnswer with the letter alone.")
    assert (gas.expected, gas.meta["id"]) == ("B", "arc-7")
    assert homer.expected == ["Homer", "Homeros"]
    judged = items_of("lm_eval.jsonl", Reading(grader=GraderKind.JUDGE))
    assert kinds(judged) == ["judge", "choice", "choice", "judge", "judge"]


def test_inspect_ai() -> None:
    capital, antonym, primes, product = items_of("inspect_samples.jsonl")
    assert (capital.category, capital.meta["id"]) == ("geography", "geo-1")
    assert antonym.request["messages"][1] == {"role": "user", "content": "Antonym of 'scarce'?"}
    assert (primes.grader.kind, primes.expected) == ("choice", ["B", "D"])
    assert (product.grader.kind, product.meta) == ("number", {"files": {"a.txt": "x"}, "sandbox": "docker"})


def test_bfcl_with_its_answers() -> None:
    area, music, none = items_of("bfcl_simple.jsonl", companion(Format.BFCL, "bfcl_simple_answers.jsonl"))
    assert [item.category for item in (area, music, none)] == ["simple_python", "parallel", "irrelevance"]
    parameters = area.request["tools"][0]["function"]["parameters"]
    assert (parameters["type"], parameters["properties"]["height"]["type"]) == ("object", "number")
    (call,) = tool_case(area).oracle.calls
    assert (call.name, call.args["/base"], call.args["/unit"]) == (
        "geometry_triangle_area",
        Leaf("any_of", [10]),
        Leaf("absent_ok", "units"),
    )
    bach, orff = tool_case(music).oracle.calls
    assert (bach.args["/where/room"], bach.open) == (Leaf("any_of", ["hall"]), False)
    assert (set(orff.args), orff.open) == ({"/artist"}, True)
    assert tool_case(none).oracle.trigger is Trigger.MUST_NOT


def bfcl(name: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "question": [[{"role": "user", "content": CANARY}]], "function": [{"name": "f"}], **more}


@pytest.mark.parametrize(
    ("line", "trigger"),
    [
        (bfcl("live_irrelevance_3-0-0"), Trigger.MUST_NOT),
        (bfcl("live_relevance_3-0-0"), Trigger.MUST),
        (bfcl("house_1", ground_truth=[]), Trigger.MUST_NOT),
    ],
)
def test_a_question_of_bfcl_without_an_answer_wants_what_its_category_says(line: Any, trigger: Trigger) -> None:
    oracle = tool_case(read(line)[0]).oracle
    assert (oracle.trigger, oracle.calls) == (trigger, ())


@pytest.mark.parametrize(
    ("allowed", "arguments", "right"),
    [
        ([[{"field": ["age"], "op": [">", ">="]}]], [{"field": "age", "op": ">="}], True),
        ([[{"field": ["age"], "op": [">", ">="]}]], [{"field": "age", "op": "<"}], False),
        ([[{"field": ["age"]}]], [{"field": "age"}, {"field": "age"}], False),
        ([{"field": ["age"]}, ""], {"field": "age"}, True),
        ([[[{"field": ["age"]}]]], [[{"field": "age"}]], True),
    ],
)
def test_objects_of_bfcl_hold_lists_of_what_may_stand_there(allowed: Any, arguments: Any, right: bool) -> None:
    (item,) = read(bfcl("simple_1", ground_truth=[{"f": {"x": allowed}}]))
    (call,) = tool_case(item).oracle.calls
    assert compare(call, {"x": arguments}).exact is right


def test_our_own() -> None:
    items = items_of("own.jsonl")
    assert kinds(items) == ["exact", "json_schema", "code", "judge", "number", "regex"]
    assert [item.category for item in items[:3]] == ["spelling", "json", "code"]
    assert items[1].meta == {"category": "json", "author": "ops"}
    assert [message["role"] for message in items[2].request["messages"]] == ["system", "user"]


@pytest.mark.parametrize("path", sorted(FILES.glob("*.jsonl")), ids=lambda path: path.stem)
def test_every_format_becomes_our_own_and_stays_the_same_items(path: Path) -> None:
    if path.stem.endswith("answers"):
        return
    seconds = {
        "gpt_oss": (Format.GPT_OSS, "gpt_oss_tools.json"),
        "bfcl_simple": (Format.BFCL, f"{path.stem}_answers.jsonl"),
    }
    second = next((second for name, second in seconds.items() if path.stem.startswith(name)), None)
    items = items_of(path.name, None if second is None else companion(*second))
    again = read(*[item.line.encode() for item in items])
    assert again == items
    assert [item.sha256 for item in again] == [item.sha256 for item in items]


def test_the_hash_is_of_what_is_asked_and_what_is_right() -> None:
    one, same = (
        read({"prompt": "a", "grader": "exact", "expected": "b", "category": "x"}),
        EvalItem({"messages": [{"content": "a", "role": "user"}]}, Grader(GraderKind.EXACT), "b"),
    )
    assert one[0].sha256 == same.sha256
    assert one[0].content_sha256 != same.content_sha256
    assert one[0].sha256 != read({"prompt": "a", "grader": "exact", "expected": "c"})[0].sha256


def test_keys_keep_their_order_and_their_order_is_no_other_item() -> None:
    first, second = (
        read({"request": {"messages": [{"role": "user"}], "tools": [dict(order)]}, "grader": "tool_calls"})[0]
        for order in ([("b", 1), ("a", 2)], [("a", 2), ("b", 1)])
    )
    assert first.sha256 == second.sha256
    assert list(first.request["tools"][0]) == list(read(first.line.encode())[0].request["tools"][0]) == ["b", "a"]


OWN = {"prompt": CANARY, "grader": "exact", "expected": CANARY}
BAD = {
    "not-json": (b"{" + CANARY.encode(), "not JSON"),
    "no-object": (["a", CANARY], "not a JSON object"),
    "not-utf-8": (b'{"prompt": "\xff' + CANARY.encode() + b'"}', "not UTF-8"),
    "nan": (b'{"prompt": "' + CANARY.encode() + b'", "grader": "exact", "expected": NaN}', "not JSON"),
    "infinite": (b'{"prompt": "' + CANARY.encode() + b'", "grader": "exact", "expected": 1e999}', "no word for"),
    "nested": (b'{"prompt": "x", "grader": "exact", "expected": ' + b"[" * 500 + b"]" * 500 + b"}", "not JSON"),
    "surrogate": ({**OWN, "expected": "\ud800"}, "half a surrogate pair"),
    "surrogate-in-meta": ({**OWN, "meta": {CANARY: "\udfff"}}, "half a surrogate pair"),
    "no-format": ({CANARY: 1}, "no format has these keys"),
    "no-grader": ({**OWN, "grader": CANARY}, "its grader is none of exact, "),
    "odd-grader": ({**OWN, "grader": {"kind": [CANARY]}}, "its grader is none of exact, "),
    "bad-option": ({**OWN, "grader": {"kind": "number", CANARY: 1}}, "has no such option; it has tolerance"),
    "bad-option-type": ({**OWN, "grader": {"kind": "number", "tolerance": CANARY}}, "tolerance of the wrong type"),
    "no-limit": (
        {**OWN, "grader": {"kind": "code", "cpu_s": 10**9}},
        "cpu_s of the grader code is not between 1 and 60",
    ),
    "no-prompt": ({**OWN, "prompt": [CANARY]}, "its prompt or system is not a text"),
    "no-messages": ({"messages": [], "note": CANARY}, "no messages"),
    "no-role": ({"messages": [{"content": CANARY}]}, "not an object with a role"),
    "model": ({"request": {"model": CANARY, "messages": [{"role": "user"}]}, "grader": "exact"}, "sets model"),
    "no-tool": ({"tool_name": CANARY, "input": CANARY, "expected_arguments": "{}"}, "not in the second file"),
    "no-choice": ({"question": CANARY, "choices": [CANARY, "b"], "answer": 7}, "none of its choices"),
    "check-type": ({"messages": [{"role": "user"}], "check_type": CANARY}, "check_type is not a list"),
    "image": (
        {"input": [{"role": "user", "content": [{"type": "image", "image": CANARY}]}], "target": "x"},
        "not text",
    ),
    "no-answer": (
        {"id": "simple_0", "question": [[{"role": "user", "content": CANARY}]], "function": [{"name": "f"}]},
        "its answer is neither on the line nor in a second file",
    ),
    "two-turns": ({"question": [[], [CANARY]], "function": [{"name": "f"}]}, "not a list of one turn"),
}


@pytest.mark.parametrize(("line", "why"), BAD.values(), ids=BAD)
def test_what_is_no_item_is_refused_by_its_line_and_not_quoted(line: Any, why: str) -> None:
    with pytest.raises(SuiteFileError, match=r"^Line 3 is refused") as caught:
        read(b"", b"", line)
    assert why in caught.value.message
    assert CANARY not in str(caught.value)
    assert CANARY not in repr(caught.value.__cause__)


def test_a_duplicate_is_refused_with_both_lines() -> None:
    with pytest.raises(SuiteFileError, match=r"Line 3 is refused: .* as line 1"):
        read(
            OWN, {**OWN, "expected": "2"}, {"expected": CANARY, "grader": {"kind": "exact"}, "prompt": CANARY, "id": 9}
        )


def test_a_line_may_be_4_mb_and_no_longer() -> None:
    frame = len(json.dumps({**OWN, "prompt": ""}).encode())
    longest = {**OWN, "prompt": "x" * (MAX_LINE_BYTES - frame - 1)}
    assert len(read(longest, OWN)) == 2
    with pytest.raises(SuiteFileError, match="Line 1 is refused: it is longer than 4 MB"):
        read({**OWN, "prompt": "x" * MAX_LINE_BYTES}, OWN)


def test_a_file_without_items_is_refused() -> None:
    with pytest.raises(SuiteFileError, match="holds no items"):
        read(b"\n\n")


def test_a_byte_order_mark_and_crlf_do_not_matter() -> None:
    text = b"\xef\xbb\xbf" + json.dumps(OWN).encode() + b"\r\n\r\n" + json.dumps({**OWN, "prompt": "b"}).encode()
    assert len(list(read_items(io.BytesIO(text)))) == 2


@pytest.mark.parametrize("content", [b"{}", b"[{}]", b"nothing", b"\xff"])
def test_a_second_file_that_is_none_is_refused(content: bytes) -> None:
    with pytest.raises(SuiteFileError, match="second file cannot be read"):
        load_companion(Format.GPT_OSS, io.BytesIO(content))


def test_a_format_without_a_second_file_says_so() -> None:
    with pytest.raises(SuiteFileError, match="k2vv has no second file"):
        load_companion(Format.K2VV, io.BytesIO(b"[]"))


def test_the_memory_of_a_long_file_is_that_of_its_hashes() -> None:
    class Lines(io.RawIOBase):
        """2,000 requests of 2 kB, each made when it is read."""

        def __init__(self) -> None:
            self._made = 0

        def readline(self, _limit: int | None = -1, /) -> bytes:
            self._made += 1
            message = {"role": "user", "content": f"{self._made}" + "x" * 2_000}
            return json.dumps({"messages": [message]}).encode() + b"\n" if self._made <= 2000 else b""

    tracemalloc.start()
    try:
        count = sum(1 for _ in read_items(cast(BinaryIO, Lines())))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count == 2000
    assert peak < 1_200_000


KEYS = st.sampled_from(
    (
        *("messages", "role", "content", "tools", "function", "name", "parameters", "properties", "type", "id", "meta"),
        *("question", "answer", "choices", "text", "input", "target", "prompt", "system", "grader", "kind", "expected"),
        *("request", "check_type", "tool_name", "expected_arguments", "ground_truth", "metadata"),
    )
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=10,
)


@settings(max_examples=50)
@given(st.lists(st.dictionaries(KEYS, JSON, max_size=6), min_size=1, max_size=3), st.sampled_from([None, *Format]))
def test_any_lines_are_read_or_refused(lines: list[dict[str, Any]], how: Format | None) -> None:
    def numbered() -> Iterator[bytes]:
        for line in lines:
            yield json.dumps(line).encode()

    try:
        items = read(*numbered(), reading=Reading(format=how))
    except SuiteFileError:
        return
    assert read(*[item.line.encode() for item in items]) == items

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from probes.errors import ReplayFileError
from probes.replay import MAX_LINE_BYTES, replay, replay_case
from tests.probes.recorded_cases import CASES_DIR, load_cases

GOOD: dict[str, Any] = {
    "id": "one",
    "endpoint": "/v1/chat/completions",
    "request": {"model": "m"},
    "http_status": 200,
    "response_headers": {"content-type": "application/json"},
    "response_raw": '{"id": "c", "choices": [{"message": {"content": "Fowey"}, "finish_reason": "stop"}]}',
}


def written(path: Path, *lines: bytes | dict[str, Any]) -> Path:
    path.write_bytes(
        b"".join((line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n" for line in lines)
    )
    return path


def without(key: str) -> dict[str, Any]:
    return {name: value for name, value in GOOD.items() if name != key}


def replayed_body(body: str, **case: Any) -> Any:
    return replay_case({**GOOD, "response_raw": body, **case})["parsed"]


def test_every_line_of_a_file_is_understood(tmp_path: Path) -> None:
    path = written(tmp_path / "f", GOOD, {**GOOD, "id": "two"})
    assert [found["id"] for found in replay(path)] == ["one", "two"]


def test_an_answer_is_four_things(tmp_path: Path) -> None:
    (found,) = replay(written(tmp_path / "f", GOOD))
    assert list(found) == ["id", "disposition", "defects", "parsed"]
    assert found["disposition"] == "accept"
    assert found["defects"] == []
    assert found["parsed"]["content"] == "Fowey"


def test_the_recorded_cases_come_in_their_order() -> None:
    ids = [json.loads(line)["id"] for line in (CASES_DIR / "wire.jsonl").read_text("utf-8").splitlines()]
    assert [found["id"] for found in replay(CASES_DIR / "wire.jsonl")] == ids


def test_every_answer_is_ascii_json_on_one_line() -> None:
    for case in load_cases().values():
        text = json.dumps(replay_case(case), allow_nan=False)
        assert text.isascii()
        assert "\n" not in text


def test_keys_that_are_not_asked_for_are_ignored(tmp_path: Path) -> None:
    assert len(list(replay(written(tmp_path / "f", {**GOOD, "expect": 3, "note": []})))) == 1


def test_blank_lines_and_a_byte_order_mark_are_skipped(tmp_path: Path) -> None:
    path = written(tmp_path / "f", b"\xef\xbb\xbf" + json.dumps(GOOD).encode(), b"", b"  ", GOOD)
    assert len(list(replay(path))) == 2


def test_an_empty_file_holds_no_answers(tmp_path: Path) -> None:
    assert list(replay(written(tmp_path / "f"))) == []


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (b"{not json", "line 2 is not JSON"),
        (b"[1]", "line 2 is JSON but not an object"),
        (b"\xff{}", "line 2 is not UTF-8"),
        (b"[" * 500, "line 2 is not JSON"),
        *((without(key), f"line 2 has no key {key!r}") for key in GOOD),
        ({**GOOD, "http_status": "200"}, "line 2: 'http_status' is not a whole number"),
        ({**GOOD, "http_status": True}, "line 2: 'http_status' is not a whole number"),
        ({**GOOD, "response_raw": None}, "line 2: 'response_raw' is not a string"),
        ({**GOOD, "request": []}, "line 2: 'request' is not an object"),
        ({**GOOD, "endpoint": "/v1/embeddings"}, "line 2: 'endpoint' is not /v1/chat/completions or /v1/completions"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: bytes | dict[str, Any], complaint: str) -> None:
    answers = replay(written(tmp_path / "recorded.jsonl", GOOD, line, GOOD))
    assert next(answers)["id"] == "one"
    with pytest.raises(ReplayFileError) as raised:
        next(answers)
    assert "recorded.jsonl" in raised.value.message
    assert complaint in raised.value.message
    assert raised.value.exit_code == 2
    assert raised.value.remedy


def test_a_line_that_is_too_long_is_refused_before_it_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "f"
    with path.open("wb") as file:
        file.truncate(3 * MAX_LINE_BYTES)
    with pytest.raises(ReplayFileError, match="line 1 is longer than 32 MiB"):
        next(replay(path))


@pytest.mark.parametrize("name", ["missing.jsonl", "."])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(ReplayFileError, match="cannot be read") as raised:
        next(replay(tmp_path / name))
    assert raised.value.exit_code == 2


def test_a_body_that_is_no_answer_is_not_parsed() -> None:
    found = replay_case({**GOOD, "response_raw": "<html>", "http_status": 502})
    assert found["parsed"] is None
    assert found["disposition"] == "error"


def test_halves_of_surrogates_in_the_file_do_no_harm() -> None:
    found = replay_case({**GOOD, "id": "a\ud800", "response_raw": GOOD["response_raw"].replace("Fowey", "\ud83d")})
    json.dumps(found, ensure_ascii=False).encode()
    assert found["id"] == "a\ufffd"


def test_numbers_that_json_cannot_hold_become_null() -> None:
    arguments = json.dumps('{"a": 1e999, "b": [1.5]}')
    call = f'{{"id": "x", "function": {{"name": "f", "arguments": {arguments}}}}}'
    body = f'{{"id": "c", "choices": [{{"message": {{"tool_calls": [{call}]}}, "finish_reason": "tool_calls"}}]}}'
    assert replayed_body(body)["tool_calls"] == [{"name": "f", "arguments": {"a": None, "b": [1.5]}}]


def test_nul_is_kept_and_escaped() -> None:
    found = replayed_body(GOOD["response_raw"].replace("Fowey", "a\\u0000b"))
    assert found["content"] == "a\x00b"
    assert "\\u0000" in json.dumps(found)


def test_the_value_a_probe_expects_can_be_recorded() -> None:
    case = load_cases()["TC_VALUE_MISMATCH-1"]
    assert replay_case(case)["defects"] == ["TC_VALUE_MISMATCH"]
    assert replay_case({**case, "expected_arguments": None})["defects"] == []

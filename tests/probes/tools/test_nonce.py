"""The line that keeps caches out stands beside what is asked, and takes nothing away."""

from __future__ import annotations

from typing import Any

import pytest

from probes.grammar import Draw
from probes.tools.nonce import marked, session_line

LINE = "Session ABCD-123456."


def says(role: str, content: Any) -> dict[str, Any]:
    return {"role": role, "content": content}


USER, ASSISTANT, PART = says("user", "Hi"), says("assistant", "Hello"), {"type": "text", "text": "Hi"}


@pytest.mark.parametrize(
    ("messages", "found"),
    [
        ([USER], [says("user", f"{LINE}\n\nHi")]),
        ([says("system", "Be brief."), USER], [says("system", f"Be brief.\n\n{LINE}"), USER]),
        ([says("developer", "Be brief."), USER], [says("developer", f"Be brief.\n\n{LINE}"), USER]),
        ([USER, ASSISTANT, USER], [says("user", f"{LINE}\n\nHi"), ASSISTANT, USER]),
        ([says("user", [PART])], [says("user", [{"type": "text", "text": LINE}, PART])]),
        ([says("system", ""), USER], [says("system", ""), says("user", f"{LINE}\n\nHi")]),
        ([ASSISTANT], [ASSISTANT]),
    ],
)
def test_the_line_ends_the_instructions_or_opens_the_first_turn(messages: list[Any], found: list[Any]) -> None:
    request = {"messages": messages, "tools": [1]}

    assert marked(request, LINE) == {"messages": found, "tools": [1]}


def test_the_request_itself_is_left_alone() -> None:
    request = {"messages": [says("user", "Hello")]}
    marked(request, LINE)

    assert request == {"messages": [says("user", "Hello")]}


def test_lines_are_different_and_alike_in_form() -> None:
    lines = {session_line(Draw(b"seed", number)) for number in range(500)}

    assert len(lines) == 500
    assert {len(line) for line in lines} == {len(LINE)}

"""A chat answer asked for whole and as a stream, and the stream joined to what the whole has to be."""

from __future__ import annotations

import json
from typing import Any

import httpx

CHAT = "/v1/chat/completions"


def whole(url: str, request: dict[str, Any]) -> dict[str, Any]:
    answer = httpx.post(f"{url}{CHAT}", json=request, timeout=120)
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


def chunks(url: str, request: dict[str, Any]) -> list[dict[str, Any]]:
    answer = httpx.post(f"{url}{CHAT}", json={**request, "stream": True}, timeout=120)
    assert answer.status_code == 200, answer.text
    *events, done = [event.removeprefix("data: ") for event in answer.text.split("\n\n") if event]
    assert done == "[DONE]", answer.text
    return [json.loads(event) for event in events]


def joined(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The choices as a client of the stream has them at its end, without the ids of calls."""
    choices: dict[int, dict[str, Any]] = {}
    for chunk in found:
        for part in chunk["choices"]:
            if part["index"] not in choices:
                choices[part["index"]] = _opened(part)
            else:
                _extend(choices[part["index"]], part)
    return [choices[index] for index in sorted(choices)]


def _opened(part: dict[str, Any]) -> dict[str, Any]:
    assert set(part["delta"]) == {"role", "content", "refusal"}
    assert (part["logprobs"], part["finish_reason"]) == (None, None)
    return {"index": part["index"], "message": dict(part["delta"]), "logprobs": None, "finish_reason": None}


def _extend(choice: dict[str, Any], part: dict[str, Any]) -> None:
    message, delta = choice["message"], part["delta"]
    assert choice["finish_reason"] is None, "a choice has ended and goes on"
    assert set(delta) <= {"content", "tool_calls"}
    if "content" in delta:
        message["content"] = (message["content"] or "") + delta["content"]
    for call in delta.get("tool_calls", ()):
        _extend_call(message.setdefault("tool_calls", []), call)
    if part["logprobs"] is not None:
        entries = part["logprobs"]["content"]
        if choice["logprobs"] is None:
            choice["logprobs"] = {"content": [], "refusal": None}
        choice["logprobs"]["content"] += entries
    choice["finish_reason"] = part["finish_reason"]


def _extend_call(calls: list[dict[str, Any]], call: dict[str, Any]) -> None:
    """Id and name come first and once, then the arguments."""
    if call["index"] == len(calls):
        assert call["function"]["arguments"] == ""
        calls.append({"type": call["type"], "id": call["id"], "function": dict(call["function"])})
    else:
        assert set(call) == {"index", "function"}
        assert set(call["function"]) == {"arguments"}
        calls[call["index"]]["function"]["arguments"] += call["function"]["arguments"]


def without_call_ids(choices: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Ids are made from the answer's own id; all of one answer are different."""
    ids = [call["id"] for choice in choices for call in choice["message"].get("tool_calls", ())]
    assert len(set(ids)) == len(ids)
    assert all(ids)
    for choice in choices:
        for call in choice["message"].get("tool_calls", ()):
            del call["id"]
    return choices


def in_both_forms(url: str, request: dict[str, Any]) -> dict[str, Any]:
    """The whole answer, whose choices the stream's are, with logprobs and without."""
    body = whole(url, request)
    choices = without_call_ids(body["choices"])
    for more in ({}, {"logprobs": True, "top_logprobs": 2}):
        expected = without_call_ids(whole(url, {**request, **more})["choices"]) if more else choices
        assert without_call_ids(joined(chunks(url, {**request, **more}))) == expected
    return body

"""What the refusals of real providers teach (the texts are theirs, as publicly reported)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.capabilities import DROPPABLE, Capabilities
from probes.learning import learn
from tests.probes.refusals import CHAT, NOT_TAUGHT, TAUGHT, openai


@pytest.mark.parametrize(
    ("status", "body", "expected"), [case[1:] for case in TAUGHT], ids=[case[0] for case in TAUGHT]
)
def test_a_refusal_teaches(status: int, body: Any, expected: Capabilities) -> None:
    raw = body if isinstance(body, str) else json.dumps(body)

    learned = learn(Capabilities(), CHAT, status, raw.encode())

    assert learned == expected


@pytest.mark.parametrize(("status", "body"), [case[1:] for case in NOT_TAUGHT], ids=[case[0] for case in NOT_TAUGHT])
def test_other_refusals_teach_nothing(status: int, body: Any) -> None:
    raw = body if isinstance(body, str) else json.dumps(body)

    assert learn(Capabilities(), CHAT, status, raw.encode()) is None


def test_sizes_go_down_until_one_is_taken_and_then_the_list_is_given_up() -> None:
    body = json.dumps(openai("Invalid value for top_logprobs", param="top_logprobs")).encode()
    capabilities, sizes = Capabilities(), []
    while (learned := learn(capabilities, request := capabilities.adapt(CHAT), 400, body)) is not None:
        sizes.append(request["top_logprobs"])
        capabilities = learned

    assert sizes == [20, 8, 5, 1]
    assert "top_logprobs" not in capabilities.adapt(CHAT)
    assert capabilities.adapt(CHAT)["logprobs"] is True


def test_a_token_limit_refused_under_both_names_is_not_tried_for_ever() -> None:
    first = learn(Capabilities(), CHAT, 400, json.dumps(openai("Unknown parameter: 'max_tokens'")).encode())
    assert first is not None
    request = first.adapt(CHAT)

    assert learn(first, request, 400, json.dumps(openai("Unknown parameter: 'max_completion_tokens'")).encode()) is None


def test_an_endpoint_that_knows_the_old_name_only_gets_it_back() -> None:
    known = Capabilities(token_limit_parameter="max_completion_tokens")
    refusal = {
        "message": "[{'type': 'extra_forbidden', 'loc': ('body', 'max_completion_tokens'), 'msg': 'Extra inputs'}]"
    }

    learned = learn(known, known.adapt(CHAT), 400, json.dumps(refusal).encode())

    assert learned is not None
    assert learned.adapt(CHAT)["max_tokens"] == 1


def test_the_legacy_count_of_logprobs_is_bounded_too() -> None:
    request = {"prompt": "Fowey is a", "max_tokens": 1, "logprobs": 5}
    refusal = openai("5 is greater than the maximum of 1 - 'logprobs'", param="logprobs")

    learned = learn(Capabilities(), request, 400, json.dumps(refusal).encode())

    assert learned is not None
    assert learned.adapt(request) == {"prompt": "Fowey is a", "max_tokens": 1, "logprobs": 1}


words = st.sampled_from(
    [
        *sorted(DROPPABLE),
        *(
            "max_tokens",
            "max_completion_tokens",
            "unsupported",
            "at least",
            "less than or equal to",
            "5",
            "16",
            "param",
        ),
        *("maximum", "unknown", "both", "instead", "higher", "[", "]", "{", "}", "'", '"', "loc"),
    ]
)
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | words,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["error", "message", "detail", "param", "loc", "msg", "type", "code", "ctx", "errors"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(json_values | st.lists(words, max_size=12).map(" ".join), st.sampled_from([400, 403, 422, 501]))
def test_learning_always_changes_the_request_and_comes_to_an_end(body: Any, status: int) -> None:
    raw = (body if isinstance(body, str) else json.dumps(body)).encode()
    capabilities = Capabilities()
    request = capabilities.adapt(CHAT)
    for _ in range(30):
        learned = learn(capabilities, request, status, raw)
        if learned is None:
            return
        capabilities, request, before = learned, learned.adapt(CHAT), request
        assert request != before
    raise AssertionError("it goes on learning")


@given(st.binary(max_size=200))
def test_any_body_can_be_read(body: bytes) -> None:
    learn(Capabilities(), CHAT, 400, body)


@pytest.mark.parametrize("body", [b"[" * 100_000, b'{"a":' * 50_000, b"(" * 100_000, b"{'a': " * 10_000, b'"' * 70_000])
def test_a_body_that_is_deep_or_long_is_read_without_harm(body: bytes) -> None:
    assert learn(Capabilities(), CHAT, 400, body) is None


@pytest.mark.parametrize("said", ["must be at most {}", "must be at least {}", "must be between 1 and {}"])
def test_a_bound_of_thousands_of_digits_is_no_bound(said: str) -> None:
    body = openai(f"top_logprobs {said.format('9' * 5000)}", param="top_logprobs")

    assert learn(Capabilities(), CHAT, 400, json.dumps(body).encode()) == Capabilities(max_top_logprobs=8)

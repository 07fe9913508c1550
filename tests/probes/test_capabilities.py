"""How a request is changed to suit an endpoint."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from probes.capabilities import DROPPABLE, Capabilities
from probes.completion import Completion, TokenAlternative, TokenLogprob
from probes.quirks import Disposition

CHAT: dict[str, Any] = {
    "model": "acme/lark-30b",
    "messages": [{"role": "user", "content": "Hello"}],
    "max_tokens": 1,
    "temperature": 0,
    "logprobs": True,
    "top_logprobs": 20,
    "stream": False,
}


def test_an_unknown_endpoint_gets_the_request_as_it_is() -> None:
    assert Capabilities().adapt(CHAT) == CHAT


def test_adapting_leaves_the_request_itself_alone() -> None:
    before = json.dumps(CHAT)
    Capabilities(min_max_tokens=16, unsupported=frozenset({"temperature"})).adapt(CHAT)

    assert json.dumps(CHAT) == before


def test_unsupported_parameters_are_left_out() -> None:
    adapted = Capabilities(unsupported=frozenset({"temperature", "seed"})).adapt({**CHAT, "seed": 7})

    assert "temperature" not in adapted
    assert "seed" not in adapted


def test_the_token_limit_takes_its_name_and_its_least_value() -> None:
    known = Capabilities(token_limit_parameter="max_completion_tokens", min_max_tokens=16)

    assert known.adapt(CHAT)["max_completion_tokens"] == 16
    assert "max_tokens" not in known.adapt(CHAT)
    assert known.adapt({**CHAT, "max_tokens": 64})["max_completion_tokens"] == 64


def test_legacy_completions_keep_max_tokens() -> None:
    known = Capabilities(token_limit_parameter="max_completion_tokens", min_max_tokens=16, max_top_logprobs=5)

    assert known.adapt({"prompt": "Fowey", "max_tokens": 1, "logprobs": 20}) == {
        "prompt": "Fowey",
        "max_tokens": 16,
        "logprobs": 5,
    }


def test_top_logprobs_are_cut_to_what_is_allowed_and_dropped_at_none() -> None:
    assert Capabilities(max_top_logprobs=5).adapt(CHAT)["top_logprobs"] == 5
    assert Capabilities(max_top_logprobs=5).adapt(CHAT)["logprobs"] is True
    assert "top_logprobs" not in Capabilities(max_top_logprobs=0).adapt(CHAT)


def test_top_logprobs_never_go_without_logprobs() -> None:
    assert "top_logprobs" not in Capabilities(unsupported=frozenset({"logprobs"})).adapt(CHAT)
    assert "logprobs" not in Capabilities().without_logprobs().adapt(CHAT)


def test_stream_options_never_go_without_a_stream() -> None:
    options = {"stream_options": {"include_usage": True}}

    assert "stream_options" not in Capabilities().adapt({**CHAT, **options})
    assert Capabilities().adapt({**CHAT, **options, "stream": True})["stream_options"] == {"include_usage": True}


def test_an_answer_shows_whether_logprobs_are_given() -> None:
    token = TokenAlternative("Rain", b"Rain", -0.5)
    with_logprobs = Completion(Disposition.ACCEPT, (), 200, logprobs=(TokenLogprob(token, (token,)),))
    without = Completion(Disposition.ACCEPT, (), 200)

    assert Capabilities().observed(CHAT, with_logprobs).logprobs is True
    assert Capabilities().observed(CHAT, without).logprobs is False
    assert Capabilities().observed({"messages": []}, without).logprobs is None


known_capabilities = st.builds(
    Capabilities,
    token_limit_parameter=st.sampled_from(["max_tokens", "max_completion_tokens"]),
    refused_limits=st.frozensets(st.sampled_from(["max_tokens", "max_completion_tokens"])),
    min_max_tokens=st.integers(1, 64),
    max_top_logprobs=st.none() | st.integers(0, 20),
    logprobs=st.none() | st.booleans(),
    unsupported=st.frozensets(st.sampled_from(sorted(DROPPABLE))),
)


@given(known_capabilities)
def test_capabilities_survive_json(capabilities: Capabilities) -> None:
    assert Capabilities.from_dict(json.loads(json.dumps(capabilities.to_dict()))) == capabilities


@given(known_capabilities, st.sets(st.sampled_from(sorted(CHAT))), st.booleans())
def test_adapting_twice_changes_nothing_more(capabilities: Capabilities, left_out: set[str], stream: bool) -> None:
    request = {name: value for name, value in CHAT.items() if name not in left_out}
    request["stream"] = stream

    once = capabilities.adapt(request)

    assert capabilities.adapt(once) == once
    assert set(once) <= set(request) | {"max_completion_tokens"}


def test_stored_capabilities_of_another_version_are_read_as_far_as_they_go() -> None:
    stored = {"token_limit_parameter": "num_predict", "min_max_tokens": "16", "unsupported": ["seed", "model"], "x": 1}

    assert Capabilities.from_dict(stored) == Capabilities(unsupported=frozenset({"seed"}))
    assert Capabilities.from_dict({}) == Capabilities()

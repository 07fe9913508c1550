"""The profile of a response: each habit shows in the feature of its name and in no other."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probes.plan import Item, Outcome, Sample
from probes.profile.extract import profile_of
from probes.profile.features import COMMON, DETERMINISTIC, VARYING, Feature, Profile
from tests.endpoints.stacks import CALLING, Said, Stack, hexadecimal
from tests.probes.profile.samples import LOGPROBS, PLAIN, STREAM, profile, refused, sample_of, written

TOOLS = {**STREAM, "tools": [{"type": "function", "function": {"name": "stock"}}]}
USUAL = Stack()


def without(key: str) -> Any:
    return lambda value: {name: one for name, one in value.items() if name != key}


def with_keys(**more: Any) -> Any:
    return lambda value: {**value, **more}


def at_the_end(**more: Any) -> Any:
    return lambda choice: {**choice, **({"delta": more} if choice["finish_reason"] else {})}


HABITS: list[tuple[str, Mapping[str, Any], Mapping[str, Any], Said, set[Feature]]] = [
    ("id", {"answer_id": lambda rng: hexadecimal(rng)}, PLAIN, Said(), {Feature.ID}),
    ("no id", {"edit_chunk": without("id")}, PLAIN, Said(), {Feature.ID, Feature.ENVELOPE_KEYS}),
    ("object", {"edit_chunk": with_keys(object="chat")}, PLAIN, Said(), {Feature.OBJECT}),
    ("created", {"created": 1760000000.25}, PLAIN, Said(), {Feature.CREATED}),
    ("model", {"model": "acme/lark-30b-fp8"}, PLAIN, Said(), {Feature.MODEL}),
    (
        "fingerprint",
        {"fingerprint": "fp_1"},
        PLAIN,
        Said(),
        {Feature.SYSTEM_FINGERPRINT, Feature.ENVELOPE_KEYS},
    ),
    ("envelope key", {"edit_chunk": with_keys(timings={})}, STREAM, Said(), {Feature.ENVELOPE_KEYS}),
    ("choice key", {"edit_choice": with_keys(matched_stop=None)}, STREAM, Said(), {Feature.CHOICE_KEYS}),
    ("usage", {"usage_apart": False}, STREAM, Said(), {Feature.USAGE_PLACEMENT, Feature.LAST_CHUNK}),
    ("done", {"done": False}, STREAM, Said(), {Feature.DONE}),
    ("crlf", {"line_end": "\r\n"}, STREAM, Said(), {Feature.LINE_END}),
    ("cr", {"line_end": "\r"}, STREAM, Said(), {Feature.LINE_END}),
    ("prefix", {"prefix": "data:"}, STREAM, Said(), {Feature.DATA_PREFIX}),
    ("spacing", {"separators": (", ", ": ")}, STREAM, Said(), {Feature.JSON_SPACING}),
    ("comment", {"comment": "ping 12"}, STREAM, Said(), {Feature.KEEP_ALIVE}),
    ("server", {"headers": {"server": "nginx"}}, PLAIN, Said(), {Feature.SERVER}),
    ("headers", {"headers": {**USUAL.headers, "x-ratelimit-limit-requests": "9"}}, PLAIN, Said(), {Feature.HEADERS}),
    ("via", {"headers": {**USUAL.headers, "via": "1.1 edge"}}, PLAIN, Said(), {Feature.HEADERS, Feature.VIA}),
    ("role", {"role_alone": False}, STREAM, Said(), {Feature.ROLE_CHUNK}),
    ("last chunk", {"edit_choice": at_the_end(content="")}, STREAM, Said(), {Feature.LAST_CHUNK}),
    (
        "reasoning",
        {"reasoning_field": "reasoning"},
        STREAM,
        Said(reasoning="Rain falls."),
        {Feature.REASONING_FIELD, Feature.MESSAGE_KEYS},
    ),
    ("call id", {"call_id": lambda rng: f"call_{hexadecimal(rng, 24)}"}, TOOLS, CALLING, {Feature.CALL_ID}),
    (
        "call index",
        {"edit_call": lambda entry: {**entry, "index": entry["index"] + 1}},
        TOOLS,
        CALLING,
        {Feature.CALL_INDEX_BASE},
    ),
    ("name", {"name_each_time": True}, TOOLS, CALLING, {Feature.CALL_NAME}),
    ("arguments", {"arguments": lambda _: {"item": "x"}}, TOOLS, CALLING, {Feature.CALL_ARGUMENTS}),
    (
        "content",
        {"content_when_calling": ""},
        TOOLS,
        CALLING,
        {Feature.CONTENT_WHEN_CALLING, Feature.ROLE_CHUNK},
    ),
    (
        "no content",
        {"content_when_calling": "absent"},
        TOOLS,
        CALLING,
        {Feature.CONTENT_WHEN_CALLING, Feature.ROLE_CHUNK, Feature.MESSAGE_KEYS},
    ),
    ("finish", {"edit_choice": lambda choice: {**choice, "finish_reason": "eos"}}, PLAIN, Said(), {Feature.FINISH}),
    ("bytes", {"edit_logprobs": without("bytes")}, LOGPROBS, Said(), {Feature.LOGPROB_BYTES}),
    (
        "short list",
        {"edit_logprobs": lambda entry: {**entry, "top_logprobs": entry["top_logprobs"][:2]}},
        LOGPROBS,
        Said(),
        {Feature.TOP_K},
    ),
    ("sentinel", {"edit_logprobs": with_keys(logprob=-9999.0)}, LOGPROBS, Said(), {Feature.LOGPROB_SENTINEL}),
    ("no logprobs", {"edit_choice": with_keys(logprobs=None)}, LOGPROBS, Said(), {Feature.LOGPROB_SHAPE}),
]


def differing(one: Profile, other: Profile) -> set[Feature]:
    return {feature for feature in Feature if one.features.get(feature) != other.features.get(feature)}


@pytest.mark.parametrize(
    ("habit", "request_", "said", "features"), [row[1:] for row in HABITS], ids=[row[0] for row in HABITS]
)
def test_a_habit_shows_in_its_feature_alone(
    habit: Mapping[str, Any], request_: Mapping[str, Any], said: Said, features: set[Feature]
) -> None:
    usual, other = profile(USUAL, request_, said), profile(replace(USUAL, **habit), request_, said)

    assert other.kind == usual.kind
    # Without positions there is nothing to say of them.
    assert (
        differing(usual, other) - ({*features} | _OF_POSITIONS if Feature.LOGPROB_SHAPE in features else features)
        == set()
    )
    assert features <= differing(usual, other)
    assert (other.hash == usual.hash) is (features <= VARYING)
    assert (other.variant == usual.variant) is not bool(features & COMMON)


_OF_POSITIONS = {Feature.LOGPROB_BYTES, Feature.TOP_K, Feature.LOGPROB_SENTINEL}


def test_the_shape_of_a_refusal_shows() -> None:
    error = {"message": "No.", "type": "invalid_request_error", "param": None, "code": 400}
    usual = refused(USUAL, error)

    assert usual.kind == "error 400"
    assert usual.features[Feature.ERROR_SHAPE] == "error{code#,message,param,type}"
    assert refused(USUAL, {**error, "param": "top_k", "message": "Not this."}).hash == usual.hash
    assert differing(usual, refused(replace(USUAL, error=with_keys(object="error")), error)) == {Feature.ERROR_SHAPE}


def test_a_page_and_plain_text_have_a_shape_too() -> None:
    shapes = [
        profile_of(sample_of(PLAIN, body, {"content-type": "text/html"}, 502))
        for body in ("<html></html>", "Bad gateway")
    ]

    assert [one and one.features[Feature.ERROR_SHAPE] for one in shapes] == ["page", "text"]


words = st.lists(st.text(min_size=1, max_size=12).map(lambda word: f" {word}"), min_size=1, max_size=12)


@settings(max_examples=25)
@given(words, words, st.integers(0, 2**64), st.integers(0, 2**64), st.booleans())
def test_the_hash_does_not_hang_on_what_is_said(
    one: list[str], other: list[str], seed: int, another: int, stream: bool
) -> None:
    request = STREAM if stream else LOGPROBS
    hashes = {
        profile(USUAL, request, Said(words=said, seed=drawn)).hash for said, drawn in ((one, seed), (other, another))
    }

    assert len(hashes) == 1


def test_an_answer_that_broke_off_has_no_profile() -> None:
    body = USUAL.stream(STREAM, Said())
    cut = sample_of(STREAM, body[: len(body) // 2], {"content-type": "text/event-stream"})

    assert profile_of(cut) is None
    assert profile_of(Sample(Item("one", 0, PLAIN), Outcome.TIMEOUT, None, ())) is None


@settings(max_examples=30)
@given(
    st.binary(max_size=300), st.sampled_from(["application/json", "text/event-stream", ""]), st.sampled_from([200, 400])
)
def test_no_bytes_make_it_fail(body: bytes, content_type: str, status: int) -> None:
    text = body.decode("latin-1")

    profile_of(sample_of(STREAM, text, {"content-type": content_type}, status))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=3),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "id",
                        "choices",
                        "delta",
                        "message",
                        "tool_calls",
                        "function",
                        "arguments",
                        "name",
                        "logprobs",
                        "content",
                        "top_logprobs",
                        "finish_reason",
                        "usage",
                        "role",
                        "x_groq",
                        "error",
                    ]
                ),
                inner,
                max_size=5,
            )
        ),
        max_leaves=20,
    )
)
@settings(max_examples=30)
def test_no_json_makes_it_fail(value: Any) -> None:
    for wrapped in (
        value,
        {"choices": [value]},
        {"choices": [{"finish_reason": "stop", "delta": value, "logprobs": value}]},
    ):
        text = json.dumps(wrapped)
        for body in (text, f"data: {text}\n\n"):
            profile_of(sample_of(LOGPROBS, body, {}))


def test_every_feature_is_either_deterministic_or_varies() -> None:
    assert set(Feature) == DETERMINISTIC | VARYING
    assert not DETERMINISTIC & VARYING
    assert COMMON <= DETERMINISTIC


def test_every_feature_is_seen_in_one_of_these_answers() -> None:
    said = Said(reasoning="So it is.")
    seen = [
        profile(replace(USUAL, comment="ping"), STREAM, said),
        profile(USUAL, LOGPROBS),
        profile(USUAL, TOOLS, CALLING),
        refused(USUAL, {"message": "No."}),
    ]

    assert {feature for one in seen for feature in one.features} == set(Feature)


def test_random_ids_of_one_stack_have_one_form() -> None:
    rng = random.Random(1)
    forms = {
        profile(USUAL, TOOLS, replace(CALLING, seed=rng.getrandbits(64))).features[Feature.CALL_ID] for _ in range(50)
    }

    assert forms == {"chatcmpl-tool-hex32"}
    assert written(USUAL, TOOLS, CALLING).completion is not None


def test_ids_of_chats_and_of_completions_are_one_variant() -> None:
    plain = replace(USUAL, answer_id=lambda rng: f"cmpl-{hexadecimal(rng)}")

    assert profile(plain, PLAIN).variant == profile(USUAL, PLAIN).variant
    assert profile(plain, PLAIN).hash != profile(USUAL, PLAIN).hash

"""The logprobs probe: what it asks, and what it takes from an answer."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.completion import Completion, TokenAlternative, TokenLogprob
from probes.logprobs import FLOOR, FirstToken, first_token, plan
from probes.plan import Item, Outcome, Sample
from probes.quirks import Disposition
from probes.reader import AnswerReader
from tests.endpoints.lawful import Lawful

SEED = bytes(range(32))
REQUEST = {"messages": [], "max_tokens": 1, "temperature": 0, "logprobs": True, "top_logprobs": 5}


@given(st.integers(0, 80), st.booleans())
def test_a_plan_holds_the_wanted_number_of_requests(n: int, has_reference: bool) -> None:
    items = plan(SEED, b"run", n=n, has_reference=has_reference).items

    assert len(items) == (n if has_reference else n // 2 * 2)
    assert len({(item.key, item.rep) for item in items}) == len(items)


def test_half_of_a_run_is_anchors_sent_first_and_last() -> None:
    items = plan(SEED, b"run", n=40, has_reference=True).items

    assert [item.anchor for item in items] == [True] * 10 + [False] * 20 + [True] * 10
    assert [item.rep for item in items] == [0] * 30 + [1] * 10
    assert [item.key for item in items[:10]] == [item.key for item in items[30:]]
    assert [item.request for item in items[:10]] == [item.request for item in items[30:]]
    assert all(item.key.startswith("anchor-" if item.anchor else "single-") for item in items)


def test_without_a_reference_all_are_anchors() -> None:
    items = plan(SEED, b"run", n=40, has_reference=False).items

    assert all(item.anchor for item in items)
    assert [item.key for item in items[:20]] == [item.key for item in items[20:]]


def test_anchors_stay_and_single_use_prompts_change_from_run_to_run() -> None:
    one, two = (plan(SEED, run, n=40, has_reference=True) for run in (b"run-1", b"run-2"))

    assert [item for item in one.items if item.anchor] == [item for item in two.items if item.anchor]
    assert not {item.key for item in one.items if not item.anchor} & {item.key for item in two.items if not item.anchor}
    assert one.suite_sha256 == two.suite_sha256


def test_the_suite_is_told_apart_by_seed_and_by_its_anchors() -> None:
    suites = [
        plan(SEED, b"run", n=40, has_reference=True),
        plan(bytes(32), b"run", n=40, has_reference=True),
        plan(SEED, b"run", n=48, has_reference=True),
    ]

    assert len({suite.suite_sha256 for suite in suites}) == 3


def test_a_request_asks_for_one_token_and_its_alternatives() -> None:
    (item, *_) = plan(SEED, b"run", n=4, has_reference=True).items

    assert {name: value for name, value in item.request.items() if name != "messages"} == {
        "max_tokens": 1,
        "temperature": 0,
        "logprobs": True,
        "top_logprobs": 20,
        "stream": False,
    }
    json.dumps(item.request)


def read(body: dict[str, Any], **request: Any) -> Sample:
    """The sample an answer with this body gives."""
    asked = {**REQUEST, **request}
    reader = AnswerReader(asked, endpoint="/v1/chat/completions", http_status=200, headers={})
    reader.feed(json.dumps(body).encode())
    return Sample(Item("anchor-0", 0, asked), Outcome.OK, reader.finish(), ())


def answer(
    *top: tuple[str, float | None], sampled: tuple[str, float | None] | None = None, bytes_too: bool = True
) -> Any:
    """A body whose first position has these alternatives."""

    def entry(token: str, logprob: float | None) -> dict[str, Any]:
        return {"token": token, "logprob": logprob, **({"bytes": list(token.encode())} if bytes_too else {})}

    first = entry(*(sampled or top[0]))
    body = Lawful().whole(REQUEST)
    body["choices"][0]["logprobs"] = {"content": [{**first, "top_logprobs": [entry(*pair) for pair in top]}]}
    return body


def test_the_first_position_is_read_in_the_order_received() -> None:
    found = first_token(read(Lawful().whole({**REQUEST, "max_tokens": 3, "top_logprobs": 3}), top_logprobs=3))

    assert found == FirstToken(
        tokens=(b"Rain", b" other1", b" other2"),
        logprobs=tuple(-index * math.log(2) for index in (1, 2, 3)),
        sampled=b"Rain",
    )


def test_sentinels_are_left_out_and_small_values_are_floored() -> None:
    found = first_token(read(answer(("A", -0.1), ("B", -55.0), ("C", -9999.0), ("D", None))))

    assert found is not None
    assert dict(zip(found.tokens, found.logprobs, strict=True)) == {b"A": -0.1, b"B": FLOOR}


def test_tokens_that_lost_their_bytes_are_left_out() -> None:
    found = first_token(read(answer(("A", -0.5), ("\ufffd", -1.5))))

    assert found is not None
    assert found.tokens == (b"A",)


def test_tokens_without_a_bytes_field_go_by_their_text() -> None:
    found = first_token(read(answer(("A", -0.5), (" é", -1.5), bytes_too=False)))

    assert found is not None
    assert found.tokens == (b"A", " é".encode())


def test_of_two_tokens_with_the_same_bytes_the_likelier_stands() -> None:
    found = first_token(read(answer(("A", -0.5), ("A", -3.0), ("B", -4.0))))

    assert found is not None
    assert dict(zip(found.tokens, found.logprobs, strict=True)) == {b"A": -0.5, b"B": -4.0}


def test_without_a_list_the_sampled_token_is_the_one_alternative() -> None:
    found = first_token(read(Lawful().whole({**REQUEST, "top_logprobs": 0}), top_logprobs=0))

    assert found is not None
    assert found.tokens == (b"Rain",)


@pytest.mark.parametrize(
    "sample",
    [
        pytest.param(read(Lawful().whole({"max_tokens": 1})), id="no logprobs"),
        pytest.param(read(answer(("A", 0.7), ("B", -1.0))), id="above zero"),
        pytest.param(read(answer(("A", 0.0), ("B", -9999.0), ("C", -9999.0))), id="processed"),
        pytest.param(read(answer(("\ufffd", -0.5))), id="no bytes"),
        pytest.param(Sample(Item("a", 0, REQUEST), Outcome.TIMEOUT, None, ()), id="no answer"),
        pytest.param(
            Sample(Item("a", 0, REQUEST), Outcome.HTTP_ERROR, Completion(Disposition.ERROR, (), 500), ()), id="error"
        ),
    ],
)
def test_an_answer_that_cannot_be_used_has_no_first_token(sample: Sample) -> None:
    assert first_token(sample) is None


alternatives = st.builds(
    TokenAlternative,
    token=st.text(max_size=3),
    token_bytes=st.none() | st.binary(max_size=3),
    logprob=st.none() | st.floats(-1e6, 0),
)


@given(alternatives, st.none() | st.lists(alternatives, max_size=20).map(tuple))
def test_whatever_came_values_and_tokens_match_and_are_in_range(
    sampled: TokenAlternative, top: tuple[TokenAlternative, ...] | None
) -> None:
    completion = Completion(Disposition.ACCEPT, (), 200, logprobs=(TokenLogprob(sampled, top),))
    sample = Sample(Item("a", 0, REQUEST), Outcome.OK, completion, ())

    found = first_token(sample)

    known = [one for one in top or (sampled,) if one.token_bytes is not None and one.logprob is not None]
    assert (found is None) is (not known)
    if found is None:
        return
    assert len(found.tokens) == len(found.logprobs) == len(set(found.tokens)) > 0
    assert all(FLOOR <= value <= 0 for value in found.logprobs)

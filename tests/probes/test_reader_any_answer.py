"""Whatever an endpoint sends, the reader makes a `Completion` of it, the same in whatever pieces it comes."""

from __future__ import annotations

import json
import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from probes.completion import Completion
from probes.quirks import Disposition, Quirk
from probes.reader import AnswerReader
from probes.replay import parsed
from tests.probes.recorded_cases import Case, body_of, load_cases

CASES = list(load_cases().values())
WRONG: list[Any] = [
    *(None, True, False, 0, -1, 2.5, 10**400, "", "x", "\ud800", "\x00", [], {}, [[]], [None], {"a": 1}, ["x", 1]),
    *(float("nan"), float("inf"), {"content": []}, {"tool_calls": 3}, [{"index": True}], {"error": []}, "[DONE]"),
]


def mutated(value: Any, draw: random.Random, share: float) -> Any:
    """`value` with some of it replaced by something of another type, left out or said twice."""
    if draw.random() < share:
        return draw.choice(WRONG)
    if isinstance(value, dict):
        return {key: mutated(item, draw, share) for key, item in value.items() if draw.random() > share / 2}
    if isinstance(value, list):
        items = [mutated(item, draw, share) for item in value]
        return items + ([draw.choice(items)] if items and draw.random() < share else [])
    return value


def mutated_line(line: str, draw: random.Random, share: float) -> str:
    prefix = "data: " if line.startswith("data: ") else ""
    try:
        value = json.loads(line.removeprefix(prefix))
    except ValueError:
        return line
    return prefix + json.dumps(mutated(value, draw, share))


def damaged(body: bytes, draw: random.Random) -> bytes:
    """`body` with a few bytes changed, lost or put in."""
    broken = bytearray(body)
    for _ in range(draw.randint(0, 5)):
        at = draw.randrange(len(broken) + 1)
        broken[at : at + draw.randint(0, 20)] = draw.randbytes(draw.randint(0, 4))
    return bytes(broken)


def read_both_ways(case: Case, body: bytes, draw: random.Random) -> Completion:
    whole, in_pieces = (
        AnswerReader(
            case["request"],
            endpoint=case["endpoint"],
            http_status=case["http_status"],
            headers=case["response_headers"],
        )
        for _ in range(2)
    )
    whole.feed(body)
    start = 0
    while start < len(body):
        end = start + draw.randint(1, 40)
        in_pieces.feed(body[start:end])
        start = end
    completion = whole.finish()
    # NaN is no equal of itself: what is written of both is compared.
    assert repr(in_pieces.finish()) == repr(completion)
    return completion


def assert_sound(case: Case, completion: Completion) -> None:
    assert list(completion.quirks) == [quirk for quirk in Quirk if quirk in completion.quirks]
    worst = Disposition.worst(quirk.disposition for quirk in completion.quirks)
    assert completion.disposition in (worst, Disposition.ERROR)
    for call in completion.tool_calls:
        assert (call.arguments is None) != (call.arguments_raw is None)
    json.dumps(parsed(completion, case["endpoint"]), allow_nan=False, ensure_ascii=False).encode()


@settings(max_examples=300)
@given(st.sampled_from(CASES), st.randoms(use_true_random=False), st.sampled_from([0.02, 0.06, 0.2]))
def test_values_of_any_type_anywhere_are_read(case: Case, draw: random.Random, share: float) -> None:
    body = "\n".join(mutated_line(line, draw, share) for line in case["response_raw"].split("\n"))
    assert_sound(case, read_both_ways(case, body.encode("utf-8", "surrogatepass"), draw))


@settings(max_examples=200)
@given(st.sampled_from(CASES), st.randoms(use_true_random=False))
def test_damaged_bytes_are_read(case: Case, draw: random.Random) -> None:
    assert_sound(case, read_both_ways(case, damaged(body_of(case), draw), draw))


@settings(max_examples=100)
@given(st.sampled_from(CASES), st.randoms(use_true_random=False))
def test_a_cut_answer_is_read(case: Case, draw: random.Random) -> None:
    body = body_of(case)
    assert_sound(case, read_both_ways(case, body[: draw.randrange(len(body) + 1)], draw))


@given(st.sampled_from(CASES), st.binary(max_size=200), st.randoms(use_true_random=False))
def test_any_bytes_are_read(case: Case, body: bytes, draw: random.Random) -> None:
    assert_sound(case, read_both_ways(case, body, draw))


@settings(max_examples=100)
@given(st.sampled_from(CASES), st.randoms(use_true_random=False))
def test_a_request_of_any_shape_is_looked_at(case: Case, draw: random.Random) -> None:
    request = mutated(case["request"], draw, 0.1)
    asked = {**case, "request": request if isinstance(request, dict) else {}}
    assert_sound(asked, read_both_ways(asked, body_of(case), draw))

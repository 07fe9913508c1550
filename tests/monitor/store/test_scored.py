"""Scored tool-call answers as they are kept: the same facts, and no word of what was asked or said."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.drift.tool_metrics import tool_metrics
from monitor.errors import StorageError
from monitor.store.scored import MAGIC, VERSION, decode_scored, encode_scored
from probes.quirks import Quirk
from probes.tools.case import Category, Trigger
from probes.tools.ladder import Info, Repair, Rung
from probes.tools.matchers import LeafMatch
from probes.tools.scored import Exclusion, Fault, Scored, ScoredCall
from probes.wire.argument_schema import SchemaFault
from tests.monitor.drift.scored_answers import scored

WORDS = ("book_mooring_of_lark", "/customer/lark_name", "lark_kind")
FAULT = SchemaFault(WORDS[1], "required", WORDS[2], 2)

CALLS = st.builds(
    ScoredCall,
    name=st.text(max_size=20),
    strict=st.sampled_from(Rung),
    lenient=st.sampled_from(Rung),
    repair=st.none() | st.sampled_from(Repair),
    fault=st.none() | st.just(FAULT),
    draft7=st.none() | st.booleans(),
    infos=st.frozensets(st.sampled_from(Info)),
    expected=st.none() | st.integers(0, 15),
    judged=st.booleans(),
)
ANSWERS = st.builds(
    scored,
    st.sampled_from(["a", "b"]),
    category=st.sampled_from(Category),
    trigger=st.sampled_from(Trigger),
    rep=st.integers(0, 7),
    stream=st.booleans(),
    excluded=st.none() | st.sampled_from(Exclusion),
    defects=st.frozensets(st.sampled_from(Quirk), max_size=4),
    finish_reason=st.sampled_from([None, "stop", "tool_calls"]),
    called=st.none() | st.booleans(),
    calls=st.lists(CALLS, max_size=3).map(tuple),
    matches=st.lists(st.builds(LeafMatch, st.integers(0, 4), st.integers(4, 9)), max_size=3).map(tuple),
    faults=st.frozensets(st.sampled_from(Fault), max_size=3),
    content_fault=st.none() | st.just(FAULT),
)


@settings(max_examples=50)
@given(answer=ANSWERS)
def test_everything_but_words_comes_back(answer: Scored) -> None:
    back = decode_scored(encode_scored(answer))

    named = zip(back.calls, answer.calls, strict=True)
    with_words = tuple(replace(kept, name=given.name, fault=given.fault) for kept, given in named)
    assert replace(back, calls=with_words, content_fault=answer.content_fault) == answer
    assert [call.fault and (call.fault.keyword, call.fault.count) for call in back.calls] == [
        call.fault and (call.fault.keyword, call.fault.count) for call in answer.calls
    ]
    assert tool_metrics([back]) == tool_metrics([answer])


def test_no_word_of_a_tool_or_its_schema_is_kept() -> None:
    call = ScoredCall(WORDS[0], Rung.SCHEMA_MISMATCH, Rung.SCHEMA_MISMATCH, fault=FAULT)

    kept = str(decode_scored(encode_scored(scored("a", called=True, calls=(call,), content_fault=FAULT))))

    assert [word for word in WORDS if word in kept] == []
    assert "required" in kept


@pytest.mark.parametrize(
    "damaged",
    [
        b"",
        b"OBS\x01rest",
        MAGIC + bytes([VERSION + 1]),
        MAGIC + bytes([VERSION]) + b"no frame",
        encode_scored(scored("a"))[:-2],
    ],
)
def test_what_is_damaged_is_an_error_of_the_storage(damaged: bytes) -> None:
    with pytest.raises(StorageError):
        decode_scored(damaged)


def test_a_reason_that_repeats_what_was_asked_is_kept_as_a_digest() -> None:
    asked = "Which berth is free for the lark?"

    kept = decode_scored(encode_scored(scored(finish_reason=asked)))

    assert kept.finish_reason is not None
    assert kept.finish_reason.startswith("sha256:")
    assert asked not in str(kept)

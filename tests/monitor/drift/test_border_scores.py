from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.drift.border_scores import BorderInput, BorderInputs, First, border_evidence, enrol_border
from monitor.drift.evidence import Inapplicable, NotYet, Scores, StreamKey, Tier

KEY = StreamKey("endpoint", Tier.BORDER, "1")
COUNTS = {f"p{place:02}": {b"a": 100 - place, b"b": place} for place in range(30)}


def enrolled(counts: dict[str, dict[bytes, int]] = COUNTS) -> BorderInputs:
    found = enrol_border(counts)
    assert isinstance(found, BorderInputs), found
    return found


def test_the_twenty_most_balanced_are_kept() -> None:
    found = enrolled()
    assert [one.prompt for one in found.inputs] == [f"p{place:02}" for place in range(29, 9, -1)]
    assert found.inputs[0] == BorderInput("p29", (b"a", b"b"), (71, 29))


def test_ten_have_to_vary() -> None:
    varying = {prompt: COUNTS[prompt] for prompt in ("p00", *(f"p{place:02}" for place in range(1, 11)))}
    assert len(enrolled(varying).inputs) == 10
    del varying["p10"]
    assert enrol_border(varying) == Inapplicable("border inputs: 9 of 10 candidates vary, and 10 are needed")


def test_each_is_asked_a_hundred_times() -> None:
    found = enrol_border({**COUNTS, "p05": {b"a": 90, b"b": 9}})
    assert found == NotYet("too few yet: 99 answers to p05, and 100 to each are needed")
    assert isinstance(enrol_border({}), NotYet)


def test_scores_are_one_minus_the_smoothed_share_over_the_largest() -> None:
    one = BorderInput("p", (b"a", b"b"), (90, 10))
    assert one.score(b"a") == 0.0
    # (10 + ½) / 101½ over (90 + ½) / 101½: the total cancels.
    assert one.score(b"b") == pytest.approx(1.0 - 10.5 / 90.5)
    assert one.score(b"new") == pytest.approx(1.0 - 0.5 / 90.5)


@given(st.lists(st.integers(1, 100), min_size=1, max_size=8))
def test_a_token_that_came_more_often_never_scores_more(counts: list[int]) -> None:
    ordered = sorted(counts, reverse=True)
    one = BorderInput("p", tuple(bytes([place]) for place in range(len(counts))), tuple(ordered))
    scores = [one.score(token) for token in (*one.tokens, b"new")]
    assert scores == sorted(scores)
    assert all(0.0 <= score < 1.0 for score in scores)


def test_a_round_scores_each_query() -> None:
    found = border_evidence(
        enrolled(), KEY, 5.0, [First("p29", b"a"), First("p29", b"b"), First("p10", b"z")], tokens=60
    )
    assert (found.stream, found.at, found.n, found.tokens, found.reasons) == (KEY, 5.0, 3, 60, ())
    assert found.says == Scores((0.0, 1.0 - 29.5 / 71.5, 1.0 - 0.5 / 90.5))


def test_answers_without_a_token_are_said_and_none_at_all_is_inapplicable() -> None:
    part = border_evidence(enrolled(), KEY, 5.0, [First("p29", b"a"), First("p28", None)])
    assert (part.n, part.reasons) == (1, ("1 of 2 answers had no first token",))
    none = border_evidence(enrolled(), KEY, 5.0, [First("p28", None)])
    assert isinstance(none.says, Inapplicable)
    with pytest.raises(ValueError, match="without any answer"):
        border_evidence(enrolled(), KEY, 5.0, [])
    with pytest.raises(ValueError, match="p05 was not enrolled"):
        border_evidence(enrolled(), KEY, 5.0, [First("p05", b"a")])


def test_they_are_stored_and_nothing_else_is_read() -> None:
    found = enrolled({f"p{place}": {b"\xff\x00": 60, b"b": 40} for place in range(12)})
    text = found.to_json()
    assert BorderInputs.from_json(text) == found
    written = json.loads(text)
    for wrong in (
        "",
        "[]",
        json.dumps({**written, "version": 2}),
        json.dumps({**written, "inputs": [{"prompt": "p", "tokens": ["61"], "counts": []}]}),
        json.dumps({**written, "inputs": [{"prompt": "p", "tokens": ["6"], "counts": [1]}]}),
    ):
        with pytest.raises(ValueError, match="enrol them anew"):
            BorderInputs.from_json(wrong)


def test_the_order_of_prompts_changes_nothing() -> None:
    assert enrolled(dict(reversed(COUNTS.items()))) == enrolled()

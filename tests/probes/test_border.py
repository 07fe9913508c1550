from __future__ import annotations

from datetime import UTC, datetime

import pytest

from probes import border
from probes.border import Ask
from probes.completion import Completion, Usage
from probes.grammar import Draw
from probes.plan import Attempt, Item, Outcome, Sample
from probes.quirks import Disposition

SEED = b"s" * 32


def answered(
    content: str | None, *, reasoning: str | None = None, finish: str | None = "length", shown: int | None = 1
):
    completion = Completion(
        disposition=Disposition.ACCEPT,
        quirks=(),
        http_status=200,
        content=content,
        reasoning=reasoning,
        finish_reason=finish,
        usage=None if shown is None else Usage(completion_tokens=shown),
    )
    attempt = Attempt(200, {}, b"", datetime(2026, 1, 1, tzinfo=UTC), 0.1)
    found = border.first_token(Sample(Item("border-x", 0, {}), Outcome.OK, completion, (attempt,)))
    return None if found is None else found.sampled


def test_prompts_are_private_to_an_installation_and_stay_the_same() -> None:
    own, other = border.pool(SEED), border.pool(b"t" * 32)

    assert len(own) == border.POOL == len({one.text for one in own.values()})
    assert list(own) == list(border.pool(SEED))
    assert len({*own} & {*other}) < border.POOL / 10
    assert all(len(one.text) < 60 for one in own.values())


def test_other_prompts_are_another_version() -> None:
    """Whoever changes them gives VERSION another value: answers to others are not counted together."""
    known = "d8718c85ad7ef8bb"  # pragma: allowlist secret
    assert (border.VERSION, border.plan(SEED, []).suite_sha256[:16]) == ("1", known)


def test_prompts_are_asked_in_turn_one_token_each() -> None:
    first, second, third = list(border.pool(SEED))[:3]

    plan = border.plan(SEED, [Ask(first, 2), Ask(second, 1), Ask(third, 3, hot=True)])

    assert [(item.key, item.rep) for item in plan.items] == [
        (f"border-{first}", 0),
        (f"border-{second}", 0),
        (f"warm-{third}", 0),
        (f"border-{first}", 1),
        (f"warm-{third}", 1),
        (f"warm-{third}", 2),
    ]
    assert {item.request["temperature"] for item in plan.items if item.key.startswith("border-")} == {0}
    assert {item.request["max_tokens"] for item in plan.items} == {1}
    assert all(item.anchor for item in plan.items)
    assert border.plan(SEED, []).suite_sha256 == plan.suite_sha256
    with pytest.raises(KeyError):
        border.plan(SEED, [Ask("of another seed", 1)])


@pytest.mark.parametrize(
    ("found", "token"),
    [
        (answered("Hel"), b"Hel"),
        (answered(" the"), b" the"),
        (answered("Hello, you there", shown=16), b"Hello"),
        (answered("\n\n**Bold**", shown=16), b"\n\n*"),
        (answered("Hello, you", shown=None), b"Hello, you"),
        (answered(None, reasoning="Okay"), b"Okay"),
        (answered("", reasoning="Okay, so", shown=40), b"Okay"),
        (answered("", finish="stop"), b""),
        (answered(None, finish="stop", shown=0), b""),
        (answered("   ", shown=3), b"   "),
        (answered(None), None),
        (answered("\udcff"), b"\xff"),
    ],
)
def test_the_first_token_of_an_answer(found: bytes | None, token: bytes | None) -> None:
    assert found == token


def test_an_answer_that_is_none_has_no_first_token() -> None:
    assert border.first_token(Sample(Item("border-x", 0, {}), Outcome.HTTP_ERROR, None, ())) is None


def test_a_round_is_drawn_from_its_nonce() -> None:
    prompts = list(border.pool(SEED))[:20]

    assert Draw(SEED, "border-round", b"1").shuffled(prompts) != Draw(SEED, "border-round", b"2").shuffled(prompts)

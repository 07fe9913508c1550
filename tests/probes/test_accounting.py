"""The accounting probe: its ladder and its counts."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from probes.accounting import TokenCount, counts, expected_prompt_tokens, plan
from probes.completion import Completion, Usage
from probes.plan import Item, Outcome, ProbeKind, Sample
from probes.quirks import Disposition
from reference_engine.interface import Message, Rendered, Tool

SEED = bytes(range(32))


class Words:
    """A tokenizer of words and single spaces, with a template of one token around each message."""

    def tokenize(self, text: str, *, parse_special: bool = True) -> list[int]:
        return [len(word) for word in text.split(" ")]

    def token_bytes(self, token_id: int) -> bytes:
        return b"x" * token_id

    def render(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool] | None = None,
        *,
        chat_template: str | None = None,
        add_generation_prompt: bool = True,
    ) -> Rendered:
        said = [[0, *self.tokenize(message["content"]), 0] for message in messages]
        declared = [[1] for _ in tools or ()]
        prompt = [2] if add_generation_prompt else []
        return Rendered("", tuple(token for part in (*declared, *said, prompt) for token in part))


def sample(item: Item, usage: Usage | None) -> Sample:
    return Sample(item, Outcome.OK, Completion(Disposition.ACCEPT, (), 200, usage=usage), ())


def test_the_ladder_is_fixed_for_a_seed_and_private_to_it() -> None:
    assert plan(SEED) == plan(SEED)
    texts, others = ({json.dumps(item.request) for item in plan(seed).items} for seed in (SEED, bytes(32)))
    assert not texts & others
    assert plan(SEED).suite_sha256 != plan(bytes(32)).suite_sha256


def test_the_ladder_climbs_through_every_kind_of_prompt() -> None:
    items = plan(SEED).items

    assert [item.key.rpartition("-")[0].removeprefix("accounting-") for item in items] == [
        "plain",
        "system",
        "foreign",
        "digits",
        "history",
        "space",
        "long",
        "system-foreign",
    ]
    roles = {
        item.key.rpartition("-")[0].removeprefix("accounting-"): [m["role"] for m in item.request["messages"]]
        for item in items
    }
    text = {name: item.request["messages"][-1]["content"] for name, item in zip(roles, items, strict=True)}
    assert roles["system"] == ["system", "user"]
    assert roles["history"] == ["user", "assistant", "user", "assistant", "user"]
    assert not text["foreign"].isascii()
    assert sum(character.isdigit() for character in text["digits"]) >= 40
    assert text["space"] != text["space"].strip()
    assert 150 <= len(text["long"].split()) <= 350
    assert all(item.anchor and item.rep == 0 for item in items)


def test_each_step_asks_for_one_token_and_no_logprobs() -> None:
    for item in plan(SEED).items:
        rest = {name: value for name, value in item.request.items() if name != "messages"}
        assert rest == {"max_tokens": 1, "temperature": 0, "stream": False}


@pytest.mark.parametrize("n", [0, 1, 3, 8, 12])
def test_a_shorter_ladder_is_its_start_and_a_longer_one_goes_on_with_anchors(n: int) -> None:
    items = plan(SEED, n=n).items

    assert plan(SEED, n=n).probe is ProbeKind.ACCOUNTING
    assert len({item.key for item in items}) == n
    assert items[:8] == plan(SEED).items[:n]


def test_counts_stand_beside_what_was_expected() -> None:
    one, two, three = plan(SEED, n=3).items
    expected = len(Words().render(one.request["messages"]).ids)
    samples = [
        sample(one, Usage(prompt_tokens=expected)),
        sample(two, None),
        sample(three, Usage(completion_tokens=1)),
        Sample(three, Outcome.TIMEOUT, None, ()),
        sample(two, Usage(prompt_tokens=7)),
    ]

    found = counts(samples, Words())

    assert found[0] == TokenCount(one.key, 0, expected, expected)
    assert found[1].item_key == two.key
    assert found[1].prompt_tokens == 7
    assert len(found) == 2


def test_without_a_tokenizer_nothing_is_expected() -> None:
    (item,) = plan(SEED, n=1).items

    assert counts([sample(item, Usage(prompt_tokens=7))], None) == [TokenCount(item.key, 0, 7, None)]


def test_tools_and_the_generation_prompt_count() -> None:
    messages = [{"role": "user", "content": "Hello there"}]

    assert expected_prompt_tokens(Words(), {"messages": messages}) == 5
    assert expected_prompt_tokens(Words(), {"messages": messages, "tools": [{}, {}]}) == 7

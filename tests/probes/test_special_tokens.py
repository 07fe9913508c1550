from __future__ import annotations

import pytest

from probes.wire.special_tokens import leaked_tokens, leaks

TOKENS = [
    *("<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|start_header_id|>", "<|channel|>", "<|python_tag|>"),
    *("<｜end▁of▁sentence｜>", "<|end▁of▁sentence|>", "<｜tool▁calls▁begin｜>", "<|tool_call_begin|>", "<｜DSML｜"),
    *("<tool_call>", "</tool_call>", "<think>", "</think>", "[INST]", "[/INST]", "[TOOL_CALLS]", "<<SYS>>"),
    *("<start_of_turn>", "<end_of_turn>", "<eos>", "</s>", "◁/think▷", "<unused7>", "<tool_call|>", "<|turn>"),
]


@pytest.mark.parametrize("token", TOKENS)
def test_a_control_token_leaks(token: str) -> None:
    assert leaked_tokens(f"Fowey.{token} Looe.")
    assert leaks([f"Fowey.{token}"], ["Name a harbour."])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a < b and c > d",
        "x <| y |> z",
        "<b>Fowey</b> [1] [/docs] <div>",
        "<s>Looe</s> Fowey",
        "if (a <| b) {}",
        "thinking out loud",
        "<tool_response>\nThe search has ended.\n</tool_response>",
        "a[ARG] b[INS]",
    ],
)
def test_other_text_does_not(text: str) -> None:
    assert leaked_tokens(text) == set()


def test_a_token_of_the_prompt_may_be_said_again() -> None:
    assert not leaks(["<|im_end|>"], ["Repeat <|im_end|> please."])
    assert leaks(["<|im_end|></think>"], ["Repeat <|im_end|> please."])

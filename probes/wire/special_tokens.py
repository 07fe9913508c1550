"""Control tokens of model families, which a server should have consumed and not passed on as text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_TOKENS = re.compile(
    "|".join(
        (
            # ChatML, Llama 3, Phi, gpt-oss, Kimi, DeepSeek, Command R …: a word between bars, ASCII or full-width.
            r"<[|｜](?:[A-Za-z0-9_▁\-]{1,40}|(?:begin|end) of \w+)[|｜]>",
            r"<[|｜]DSML[|｜]",  # DeepSeek 3.2; the rest of it is markup
            r"<\|(?:turn|channel|think|tool|tool_call|tool_response|image|audio)>",  # Gemma 4 opens with one bar
            r"<(?:turn|channel|think|tool|tool_call|tool_response|image|audio)\|>",  # and closes with one
            r"</?(?:start_of_turn|end_of_turn|start_function_call|end_function_call|end_of_utterance)>",  # Gemma
            r"</?(?:\w+:)?tool_calls?>|</?(?:longcat_tool_call|TOOLCALL)>",  # Hermes, Qwen, MiniMax
            r"</?arg_(?:key|value)>",  # GLM
            r"</?think>|\[/?THINK\]|◁/?think▷",  # DeepSeek R1, Qwen 3, Magistral, Kimi
            r"<(?:bos|eos|pad|unk|unused\d+|extra_id_\d+)>",  # SentencePiece vocabularies
            r"\[/?(?:INST|AVAILABLE_TOOLS|TOOL_RESULTS|SYSTEM_PROMPT)\]|\[(?:TOOL_CALLS|CALL_ID|ARGS)\]",  # Mistral
            r"<</?SYS>>",  # Llama 2
            r"\]~!?b[\[\]]|\[e~\[",  # MiniMax
        )
    )
)
# Llama 2 and Mistral; as a pair they are HTML for struck-out text.
_SENTENCE_START, _SENTENCE_END = "<s>", "</s>"


def leaked_tokens(text: str) -> set[str]:
    """The control tokens in `text`."""
    found = set(_TOKENS.findall(text))
    start, end = text.find(_SENTENCE_START), text.rfind(_SENTENCE_END)
    if end >= 0 and not 0 <= start < end:
        found.add(_SENTENCE_END)
    if end < 0 and text.lstrip().startswith(_SENTENCE_START):
        found.add(_SENTENCE_START)
    return found


def leaks(texts: Iterable[str], prompted: Sequence[str]) -> bool:
    """Whether `texts` hold a control token that is not in what was `prompted`: a model may quote what it was given."""
    found = {token for text in texts for token in leaked_tokens(text)}
    return bool(found) and not all(any(token in prompt for prompt in prompted) for token in found)

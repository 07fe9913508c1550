"""Tool calls that a server left as text: the syntaxes models write them in, and the call inside such text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from probes.wire.argument_text import objects_in
from probes.wire.json_value import as_object, as_text

# Where a marker is talked about, as in "between <tool_call> and </tool_call>", a blank and a word follow.
_BODY = r"(?:\s*(?:[{\[]|<(?!/))|\n?\w)"

# What opens a call, each followed by the start of its body: a lone opening marker is a leaked token, not a call.
_OPENINGS = re.compile(
    "|".join(
        (
            rf"<(?:\w+:)?tool_calls?>{_BODY}",  # Hermes, Qwen, GLM, Hunyuan, MiniMax, Seed
            rf"<(?:longcat_tool_call|TOOLCALL|function_?call)>{_BODY}",  # LongCat, Nemotron, Glaive
            r"<function(?:=|\s+name=)\s*[\"']?\w",  # Qwen3-Coder, Llama 3.1
            r"<(?:\w+:)?function_calls>\s*[\w{\[<]",  # Olmo, Claude-like templates
            r"<(?:\w+:)?invoke\s+name=",  # Claude-like templates, Step
            r"<[|｜]DSML[|｜](?:function_calls|tool_calls)>\s*<",  # DeepSeek 3.2
            r"<[|｜]DSML[|｜]invoke\s+name=",
            r"<[|｜]tool[_▁]calls?(?:[_▁]section)?[_▁](?:begin|start)[|｜]>\s*\S",  # DeepSeek, Kimi, LFM
            r"<\|tool_call\|?>\s*[\w{\[<]",  # Granite, Gemma
            r"<start_function_call>\s*\w",  # FunctionGemma
            r"<\|python_tag\|>\s*\S",  # Llama 3
            r"<\|(?:START_ACTION|action_start|tools_prefix)\|>\s*\S",  # Command R, InternLM, Apertus
            r"\[TOOL_CALLS\]\s*\S",  # Mistral
            r"\bfunctools\[\s*\{",  # Phi-4-mini
            r"<\|recipient\|>\s*\w|<\|channel\|>\s*commentary\s+to=\w|\bto=functions\.\w",  # Functionary, gpt-oss
            r"\bfunctions\.\w+:\d+",  # Kimi, its control tokens stripped
            r"<arg_key>\s*\w",  # GLM without its opener
            r"✿FUNCTION✿\s*:\s*\w",  # Qwen-Agent
        )
    )
)

_NAME_KEYS = ("name", "function", "tool", "tool_name", "action", "recipient_name")
_ARGUMENT_KEYS = ("arguments", "parameters", "args", "tool_input", "action_input", "input")
_JSON_ARGUMENTS = re.compile(rf'"(?:{"|".join(_ARGUMENT_KEYS)})"\s*:')

# The name before the arguments where text is no JSON from the start.
_NAME_BEFORE = re.compile(r"(?:functions\.|<function=|<tool_call>\s*|\bname=\")([\w.\-]+)")


def holds_call_syntax(text: str, declared: Iterable[str]) -> bool:
    """Whether `text` holds a call in a syntax that some model family uses; JSON and Python calls count only where they
    name a `declared` tool."""
    if _OPENINGS.search(text):
        return True
    names = "|".join(map(re.escape, declared))
    return bool(names) and (_is_json_call(text, names) or _is_code_call(text, names))


def _is_json_call(text: str, names: str) -> bool:
    named = re.search(rf'"(?:{"|".join(_NAME_KEYS)})"\s*:\s*"(?:functions\.)?(?:{names})"', text)
    return named is not None and _JSON_ARGUMENTS.search(text) is not None


def _is_code_call(text: str, names: str) -> bool:
    fence = r"\A(?:```\w{0,20}\s{1,4})?"
    arguments = r"\(\s{0,4}(?:\w+\s{0,4}=|\)|\{)"
    forms = (
        rf"{fence}\[?\s{{0,4}}(?:print\()?(?:default_api\.|functions\.)?(?:{names}){arguments}",  # Llama 4, Gemma
        rf"^[ \t]{{0,8}}Action:[ \t]{{0,8}}(?:{names})\s{{1,4}}Action Input:",  # ReAct
        rf"\A(?:>>>)?(?:{names})\s{{0,4}}\{{",  # Functionary, Mistral, their control tokens stripped
        rf"{fence}\{{\s{{0,4}}\"(?:{names})\"\s{{0,4}}:\s{{0,4}}\{{",  # the name as the only key
        rf"<(?:{names})>",  # a tag for each tool
    )
    return any(re.search(form, text.strip(), re.MULTILINE) for form in forms)


@dataclass(frozen=True, slots=True)
class TextCall:
    """A call found in text; `arguments` is None where they do not parse."""

    name: str
    arguments: Mapping[str, Any] | None


def call_in(text: str) -> TextCall | None:
    """The first call in text that a provider shows because it could not use it; None where no name can be made out."""
    found = next(objects_in(text), None)
    if found is not None:
        wrapped = as_object(found.get("function")) or found
        name = next((name for key in _NAME_KEYS if (name := as_text(wrapped.get(key)))), "")
        inner = next((wrapped[key] for key in _ARGUMENT_KEYS if isinstance(wrapped.get(key), dict)), None)
        if name and inner is not None:
            return TextCall(name.removeprefix("functions."), inner)
    before = _NAME_BEFORE.search(text)
    return TextCall(before.group(1), found) if before and "{" in text else None

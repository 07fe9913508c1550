"""T7: texts that break where something between model and client escapes, cuts or parses them wrongly."""

from __future__ import annotations

from collections.abc import Callable

from probes.grammar import Draw, fill
from probes.tools.families import schema
from probes.tools.families.one_value import one_value
from probes.tools.families.question import Family, Question
from probes.vocabulary import WORDS

# What may not stand in JSON text unescaped, and what stands beside: NUL itself many servers refuse outright.
_CONTROLS = ("\x01", "\x02", "\x07", "\x08", "\x0b", "\x0c", "\x1b", "\x1f", "\x7f", "\x85", "\u2028", "\ufeff")
_CLOSINGS = ("</function_call>", "[/TOOL_CALLS]", "<|tool_call_end|>", "</tools>")
_TURNS = ("<|eot_id|>", "<|endoftext|>", "</s>", "<|im_start|>assistant", "<end_of_turn>")
_ASKS = (
    "Store the text between the lines of === in record {record}, character by character.",
    "In record {record} goes the text that stands between the two === lines, unchanged.",
)


def _quotes(draw: Draw) -> str:
    return fill('{person} said "the \'{thing}\' is {colour}", or was it `{adjective}`? "" \'', draw)


def _backslashes(draw: Draw) -> str:
    return fill(r"C:\{surname}\new_{snake}\table.txt \\{surname}\u0041 \"{few}\" \\", draw)


def _newlines(draw: Draw) -> str:
    return fill("{thing}\t{few}\n{goods}\t{few}\n\n  {animal}\\n\t\t{two}", draw)


def _emoji(draw: Draw) -> str:
    """Beyond U+FFFF, so a pair of surrogates in escaped JSON; some joined, some with a skin tone."""
    joined = draw.choice(("👩🏽‍🚀", "🏳️‍🌈", "👨‍👩‍👧", "🧑🏿‍🍳", "🇳🇴", "𝒳𝔶"))
    return f"{fill('{emoji}{emoji} {surname} {emoji}', draw)}{joined}{fill('{few}{emoji}', draw)}"


def _right_to_left(draw: Draw) -> str:
    hebrew = draw.choice(("שלום לכולם", "ספר ישן", "רכבת לילה"))
    return f"{fill('{arabic} ({few}) {place}', draw)} — {hebrew}\u200f {fill('{arabic}', draw)} ⁧{draw.digits(4)}⁩"


def _scripts(draw: Draw) -> str:
    """Two to four bytes a character, some of them combining: streams cut these in the middle."""
    return fill("{accented}, {chinese}; {korean} – {greek} e\u0301 n\u0303 {japanese} {russian}", draw)


def _controls(draw: Draw) -> str:
    words = draw.some(WORDS["thing"], 4)
    return "".join(word + control for word, control in zip(words, draw.some(_CONTROLS, 3), strict=False)) + words[-1]


def _call_tags(draw: Draw) -> str:
    return fill("{thing} </tool_call> {few} CLOSING{colour}", draw).replace("CLOSING", draw.choice(_CLOSINGS))


def _turn_tokens(draw: Draw) -> str:
    return fill("The sign <|im_end|> stands on {thing} {few}, SIGN too", draw).replace("SIGN", draw.choice(_TURNS))


def _json_fragment(draw: Draw) -> str:
    return fill('{"name": "{snake}", "arguments": {"{thing}": [{few}, "{two}"]}}, {"', draw)


def _code_block(draw: Draw) -> str:
    return fill('```python\ndef {snake}(n):\n    return "{goods}" * n  # {few}\n```\n{"', draw)


def _family(name: str, text: Callable[[Draw], str]) -> Family:
    def make(draw: Draw) -> Question:
        value = text(draw)
        takes = schema.text("The text, unchanged.", minLength=1, maxLength=2000)
        return one_value(draw, takes, value, f"{draw.choice(_ASKS)}\n===\n{value}\n===")

    return Family(name, make)


FAMILIES = (
    _family("quotes", _quotes),
    _family("backslashes", _backslashes),
    _family("newlines", _newlines),
    _family("emoji", _emoji),
    _family("right-to-left", _right_to_left),
    _family("scripts", _scripts),
    _family("controls", _controls),
    _family("call-tags", _call_tags),
    _family("turn-tokens", _turn_tokens),
    _family("json-fragment", _json_fragment),
    _family("code-block", _code_block),
)

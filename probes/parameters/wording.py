"""The private wording of the trials: drawn from the installation's seed and the run's nonce, used once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from probes.grammar import Draw, fill
from probes.vocabulary import NONCES, WORDS

Message = Mapping[str, str]
Tool = Mapping[str, Any]


def one_word(draw: Draw, word: str) -> list[Message]:
    return asked(draw, f"Answer with this one word alone, in lower case: {word}")


def plain_sentence(draw: Draw) -> list[Message]:
    return asked(draw, fill("Describe the {thing} of {place} in one plain sentence. Do not write JSON.", draw))


def fruitless_question(draw: Draw) -> list[Message]:
    """One whose answer would by itself take no form at all."""
    return asked(draw, fill("What would {person} do with {few} {goods} and a {thing}? Say it in one sentence.", draw))


def secret_schema(draw: Draw) -> dict[str, Any]:
    """Of an object whose keys nobody guesses."""
    first, second = fill("{snake}", draw), fill("{snake}_{two}", draw)
    values = [draw.choice(WORDS["adjective"]), fill("{surname}", draw), fill("{code}", draw)]
    return {
        "type": "object",
        "properties": {first: {"type": "string", "enum": values}, second: {"type": "integer"}},
        "required": [first, second],
        "additionalProperties": False,
    }


def stock_tool(draw: Draw) -> Tool:
    return _tool(fill("stock_{snake}", draw), "Says how many of an item are in stock.", "item")


def hours_tool(draw: Draw) -> Tool:
    return _tool(fill("hours_{snake}", draw), "Says when a place opens and closes.", "place")


def stock_question(draw: Draw) -> list[Message]:
    text = "How many {goods} are in stock in the shop of {place} now? Look it up with the tool you have."
    return asked(draw, fill(text, draw))


def small_talk(draw: Draw) -> list[Message]:
    return asked(draw, fill("Wish {person} a calm {month} in five words. There is nothing to look up.", draw))


def asked(draw: Draw, text: str) -> list[Message]:
    return [{"role": "user", "content": f"{fill(draw.choice(NONCES), draw)} {text}"}]


def _tool(name: str, description: str, parameter: str) -> Tool:
    schema = {
        "type": "object",
        "properties": {parameter: {"type": "string"}},
        "required": [parameter],
        "additionalProperties": False,
    }
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}

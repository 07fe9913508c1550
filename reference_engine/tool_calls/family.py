"""Which way of writing calls a model was taught."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Literal

from reference_engine.template import template_facts
from reference_engine.tool_calls import hermes, llama3, mistral

Family = Literal["hermes", "llama3", "mistral"]

MARKERS: Mapping[Family, tuple[str, ...]] = {
    "hermes": hermes.MARKERS,
    "llama3": llama3.MARKERS,
    "mistral": mistral.MARKERS,
}
_SAID: Mapping[Family, re.Pattern[str]] = {
    "mistral": re.compile(r"\[TOOL_CALLS\]"),
    "hermes": re.compile(r"<tool_call>"),
    "llama3": re.compile(r'<\|python_tag\|>|\{"name": [^{}]*"parameters":'),
}
# Models tuned from Llama 3 to Hermes' form keep Llama's tokens in their vocabulary.
_OWNED: tuple[Family, ...] = ("mistral", "hermes", "llama3")


def family_of(template: str | None, vocabulary: Collection[str]) -> Family:
    """By what the template writes, then by the vocabulary's markers; Hermes where neither tells.

    A template that knows no tools is given Hermes' block, so its answers are read in that form. Raises
    EngineRequestError for a template that does not compile.
    """
    facts = template_facts(template) if template is not None else None
    if facts is None or not facts.reads_tools:
        return "hermes"
    said = [family for family, pattern in _SAID.items() if pattern.search(facts.text)]
    owned = [family for family in _OWNED if MARKERS[family][0] in vocabulary]
    return (*said, *owned, "hermes")[0]


def marker_ids(family: Family, special: Mapping[int, str]) -> frozenset[int]:
    """The tokens whose text the parser has to see though an answer does not show them."""
    return frozenset(token_id for token_id, text in special.items() if text in MARKERS[family])

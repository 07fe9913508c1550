"""What a model's answers can be held to, and in which form it writes calls of tools."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reference_engine.constraint import Constraint, GrammarVocabulary, calls_constraint, schema_constraint
from reference_engine.interface import Tool
from reference_engine.tokenizer import ModelTokenizer
from reference_engine.tool_calls import Family, marker_ids


@dataclass(frozen=True, slots=True)
class CallForm:
    """`markers` are the control tokens that belong to a call: a parser has to see their text."""

    family: Family
    markers: tuple[int, ...]


class Structure:
    """Of the model that `tokenizer` belongs to, with logits of `width`. Safe for several threads."""

    def __init__(self, tokenizer: ModelTokenizer, width: int) -> None:
        self._tokenizer = tokenizer
        self._width = width
        self._made: GrammarVocabulary | None = None
        self._lock = threading.Lock()

    def call_form(self, chat_template: str | None = None) -> CallForm:
        """Under the model's own template, or another. Raises EngineRequestError for one that does not compile."""
        family = self._tokenizer.call_family(chat_template)
        return CallForm(family, tuple(sorted(marker_ids(family, self._tokenizer.facts.special))))

    def held_to_schema(self, schema: Mapping[str, Any]) -> Constraint:
        """Raises EngineRequestError for a schema that cannot be kept. Takes up to seconds, as the next one does."""
        return schema_constraint(self._vocabulary(), schema)

    def held_to_calls(self, tools: Sequence[Tool], form: CallForm, *, several: bool) -> Constraint:
        """Calls of `tools` and nothing else. Raises EngineRequestError for tools that cannot be called."""
        return calls_constraint(self._vocabulary(), form.family, tools, several=several)

    def _vocabulary(self) -> GrammarVocabulary:
        """Made when first asked for: most models never are."""
        with self._lock:
            if self._made is None:
                self._made = GrammarVocabulary(self._tokenizer, self._width)
            return self._made

"""Structured output: which tokens keep an answer to a JSON schema, or to calls of given tools."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from llguidance import LLMatcher, LLParserLimits, LLTokenizer
from numpy.typing import NDArray

from reference_engine.errors import EngineError, EngineRequestError
from reference_engine.interface import Tool
from reference_engine.json_schema import MAX_BYTES, checked_schema
from reference_engine.tokenizer import ModelTokenizer
from reference_engine.tool_calls.family import Family
from reference_engine.tool_calls.grammar import calls_grammar, parameters_of

# Any token that fits may come, not only those into which a forced text would be cut: what is allowed is then a fact of
# the text alone.
_OPTIONS = '%llguidance {"no_forcing": true}\n'
# One space, or a new line and its indentation: JSON as models write it, and never white space without end.
_JSON_OPTIONS = {"whitespace_pattern": r"(\n[ \t]{0,40}| ?)"}
_REMEDY = "Use a simpler schema, or one without the keywords that the message names."


class GrammarVocabulary:
    """A model's tokens as the grammar library reads them: made once for each model, safe for several threads.

    `width` is that of the model's logits, at least the tokenizer's vocabulary. Control and stop tokens are never text.
    Raises EngineRequestError for a model without a stop token.
    """

    def __init__(self, tokenizer: ModelTokenizer, width: int) -> None:
        facts = tokenizer.facts
        if not facts.stops:
            raise EngineRequestError(
                "The model names no token that ends an answer.", remedy="Use a model whose files name one."
            )
        self.width = width
        self.stops = facts.stops
        self.control = {facts.special[id_]: id_ for id_ in sorted(facts.control - facts.stops) if facts.special[id_]}
        self.size = facts.vocab_size
        self._tokens = LLTokenizer(_Tokens.of(tokenizer), eos_token=sorted(facts.stops))  # type: ignore[arg-type]

    def constraint(self, grammar: str) -> Constraint:
        """Raises EngineRequestError for a grammar that the library refuses, or that no text satisfies."""
        limits = LLParserLimits(verbose_errors=False)
        constraint = Constraint(self, LLMatcher(self._tokens, _OPTIONS + grammar, log_level=0, limits=limits))
        constraint.mask()
        return constraint


@dataclass(frozen=True)
class _Tokens:
    """What `LLTokenizer` asks of a tokenizer."""

    tokens: list[bytes]
    special_token_ids: list[int]
    eos_token_id: int
    tokenizer: ModelTokenizer
    bos_token_id: None = None
    is_tokenizer_wrapper: bool = True

    @classmethod
    def of(cls, tokenizer: ModelTokenizer) -> _Tokens:
        facts = tokenizer.facts
        return cls(
            tokens=[tokenizer.token_bytes(token_id) for token_id in range(facts.vocab_size)],
            special_token_ids=sorted(facts.control | facts.stops),
            eos_token_id=min(facts.stops),
            tokenizer=tokenizer,
        )

    def __call__(self, text: str | bytes) -> list[int]:
        return self.tokenizer.tokenize(text if isinstance(text, str) else text.decode(), parse_special=False)


class Constraint:
    """The state of one answer. Not safe for several threads at once."""

    def __init__(self, vocabulary: GrammarVocabulary, matcher: LLMatcher) -> None:
        self._vocabulary = vocabulary
        self._matcher = matcher

    def mask(self) -> NDArray[np.bool_]:
        """[width], True for the tokens that may come next: stop tokens exactly where the answer is complete.

        Raises EngineRequestError where the grammar becomes too complex to follow.
        """
        bits = np.frombuffer(self._matcher.compute_bitmask(), dtype=np.uint8)
        self._check()
        mask = np.zeros(self._vocabulary.width, dtype=np.bool_)
        size = self._vocabulary.size
        mask[:size] = np.unpackbits(bits, count=size, bitorder="little")
        return mask

    def accept(self, token_id: int) -> None:
        """Takes the next token; a stop token changes nothing.

        Raises EngineError, and stays as it was, for one that `mask` forbids; EngineRequestError as `mask` does.
        """
        if token_id in self._vocabulary.stops:
            taken = self.complete
        else:
            known = 0 <= token_id < self._vocabulary.size
            taken = known and self._matcher.try_consume_tokens([token_id]) == 1
            self._check()
        if not taken:
            raise EngineError(f"The token {token_id} does not fit the constraint of the answer.")

    def _check(self) -> None:
        if self._matcher.is_error():
            reason = _first_words(self._matcher.get_error())
            raise EngineRequestError(f"The answer cannot be held to its schema: {reason}.", remedy=_REMEDY)

    @property
    def complete(self) -> bool:
        """Whether the answer may end here."""
        return self._matcher.is_accepting()

    @property
    def finished(self) -> bool:
        """Whether the answer can only end here."""
        return self._matcher.is_stopped() and self.complete

    def copy(self) -> Constraint:
        """The same state, for tokens that may be taken back."""
        return Constraint(self._vocabulary, self._matcher.deep_copy())


def schema_constraint(vocabulary: GrammarVocabulary, schema: Mapping[str, Any]) -> Constraint:
    """An answer that is JSON and fits `schema`. Raises EngineRequestError."""
    return vocabulary.constraint(f"start: %json {_grammar_schema(schema)}")


def calls_constraint(
    vocabulary: GrammarVocabulary, family: Family, tools: Sequence[Tool], *, several: bool
) -> Constraint:
    """An answer that calls one of `tools`, or several times where `several`, and says nothing else.

    Raises EngineRequestError.
    """
    if not tools:
        raise EngineRequestError("There is no tool to call.", remedy="Give at least one tool.")
    schemas = [_grammar_schema(parameters_of(tool)) for tool in tools]
    if sum(map(len, schemas)) > MAX_BYTES:
        raise EngineRequestError(
            f"The parameters of all tools together have more than {MAX_BYTES} bytes.", remedy="Give fewer tools."
        )
    return vocabulary.constraint(calls_grammar(family, tools, schemas, vocabulary.control, several=several))


def masked_logprobs(logits: NDArray[np.floating[Any]], mask: NDArray[np.bool_]) -> NDArray[np.float64]:
    """[vocabulary] float64: the distribution among the allowed tokens, −inf for the others.

    `logits` may be raw log-probabilities: the two differ by a constant. Raises EngineError where nothing is allowed.
    """
    allowed = np.where(mask, logits.astype(np.float64), -np.inf)
    largest = allowed.max(initial=-np.inf)
    if not np.isfinite(largest):
        raise EngineError("No token is allowed next.")
    shifted = allowed - largest
    logprobs: NDArray[np.float64] = shifted - np.log(np.exp(shifted).sum())
    return logprobs


def _grammar_schema(schema: Mapping[str, Any]) -> str:
    return json.dumps(checked_schema(schema) | {"x-guidance": _JSON_OPTIONS})


def _first_words(error: str) -> str:
    """The library's message without the grammar and the parser's state behind it."""
    message = re.split(r"\n\s*\d+ \| |\n<", error)[0]
    message = re.sub(r"^at \d+\(\d+\): |failed to compile JSON schema: ", "", message)
    return " ".join(message.split())[:300].rstrip(".")

"""What all trials are made of: the seed and nonce of their wording, and what is known of the endpoint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from probes.capabilities import Capabilities
from probes.grammar import Draw

if TYPE_CHECKING:
    from reference_engine.interface import TokenizerBackend

HOT = 1.5
_OPENING_TOKENS = 24


@dataclass(frozen=True, slots=True)
class Laboratory:
    """`pairs` is the number of prompts whose twins are compared, `trials` that of each rule.

    `hot` is the temperature of the free arm. The limit of tokens goes by the name the endpoint is known to take; what
    it is known to refuse is left out of every trial but those about that very parameter.
    """

    seed: bytes
    nonce: bytes
    capabilities: Capabilities
    tokenizer: TokenizerBackend | None
    pairs: int
    trials: int
    hot: float

    def draw(self, *context: str | int) -> Draw:
        return Draw(self.seed, "parameters", self.nonce, *context)

    def body(self, messages: list[Any], tokens: int, **parameters: Any) -> dict[str, Any]:
        """A body at the default temperature."""
        limit = max(tokens, self.capabilities.min_max_tokens)
        return {
            "messages": [dict(message) for message in messages],
            self.capabilities.token_limit_parameter: limit,
            "stream": False,
            **parameters,
        }

    def greedy(self, messages: list[Any], tokens: int, **parameters: Any) -> dict[str, Any]:
        return self.body(messages, tokens, **self._unless_refused(temperature=0), **parameters)

    def free(self, messages: list[Any], **parameters: Any) -> dict[str, Any]:
        return self.body(messages, _OPENING_TOKENS, **self._unless_refused(temperature=self.hot), **parameters)

    def _unless_refused(self, **parameters: Any) -> dict[str, Any]:
        return {name: value for name, value in parameters.items() if name not in self.capabilities.unsupported}

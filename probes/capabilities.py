"""What was learned about an endpoint: which parameters it accepts, and how a request is changed to suit it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, get_args

from probes.completion import Completion

TokenLimitParameter = Literal["max_tokens", "max_completion_tokens"]
TOKEN_LIMITS: tuple[TokenLimitParameter, ...] = get_args(TokenLimitParameter)

# What a probe can do without. Everything else is what the probe asks; without it the answer means something else.
DROPPABLE = frozenset(
    {
        "temperature",
        "top_p",
        "top_k",
        "min_p",
        "seed",
        "n",
        "logprobs",
        "top_logprobs",
        "stream_options",
        "stop",
        "presence_penalty",
        "frequency_penalty",
        "repetition_penalty",
        "logit_bias",
        "parallel_tool_calls",
        "user",
    }
)


@dataclass(frozen=True, slots=True)
class Capabilities:
    """`logprobs` is None until an answer has shown it. `max_top_logprobs` is None while no limit was met.

    `refused_limits` holds the names of the token limit that the endpoint has turned down.
    """

    token_limit_parameter: TokenLimitParameter = "max_tokens"  # noqa: S105 - a parameter name
    refused_limits: frozenset[str] = frozenset()
    min_max_tokens: int = 1
    max_top_logprobs: int | None = None
    logprobs: bool | None = None
    unsupported: frozenset[str] = frozenset()

    def adapt(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The request as this endpoint takes it. Adapting twice changes nothing more."""
        body = {name: value for name, value in request.items() if name not in self.unsupported}
        self._limit_tokens(body)
        self._limit_logprobs(body)
        if not body.get("stream"):
            body.pop("stream_options", None)
        return body

    def without_logprobs(self) -> Capabilities:
        return replace(self, logprobs=False, unsupported=self.unsupported | {"logprobs", "top_logprobs"})

    def observed(self, request: Mapping[str, Any], completion: Completion) -> Capabilities:
        """What a good answer to `request` (as sent) shows about log-probabilities."""
        seen = bool(completion.logprobs)
        if not request.get("logprobs") or seen is self.logprobs:
            return self
        return replace(self, logprobs=seen)

    def to_dict(self) -> dict[str, Any]:
        """A JSON object; `from_dict` reads it."""
        plain = asdict(self)
        return {**plain, "unsupported": sorted(self.unsupported), "refused_limits": sorted(self.refused_limits)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Capabilities:
        """Reads `to_dict`'s object; what it does not know or cannot use is left at its default, and learned again."""
        limit = data.get("token_limit_parameter")
        smallest = data.get("min_max_tokens")
        most = data.get("max_top_logprobs")
        logprobs = data.get("logprobs")
        return cls(
            token_limit_parameter=limit if limit in TOKEN_LIMITS else "max_tokens",
            refused_limits=frozenset(data.get("refused_limits") or ()) & frozenset(TOKEN_LIMITS),
            min_max_tokens=smallest if isinstance(smallest, int) and smallest >= 1 else 1,
            max_top_logprobs=most if isinstance(most, int) and most >= 0 else None,
            logprobs=logprobs if isinstance(logprobs, bool) else None,
            unsupported=frozenset(data.get("unsupported") or ()) & DROPPABLE,
        )

    def _limit_tokens(self, body: dict[str, Any]) -> None:
        for name in TOKEN_LIMITS:
            if name not in body:
                continue
            limit = body.pop(name)
            # Legacy completions know max_tokens only.
            kept = self.token_limit_parameter if "messages" in body else "max_tokens"
            body[kept] = max(limit, self.min_max_tokens) if isinstance(limit, int) else limit
            return

    def _limit_logprobs(self, body: dict[str, Any]) -> None:
        if not body.get("logprobs"):
            body.pop("top_logprobs", None)
        for name in ("top_logprobs", "logprobs"):
            asked = body.get(name)
            if self.max_top_logprobs is None or isinstance(asked, bool) or not isinstance(asked, int):
                continue
            body[name] = min(asked, self.max_top_logprobs)
        if body.get("top_logprobs") == 0:
            del body["top_logprobs"]

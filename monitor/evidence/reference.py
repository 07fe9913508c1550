"""Asks the reference what it was that the endpoint failed at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from monitor.check.reference import OpenReference
from reference_engine import CodedError, ReferenceBackend, Rendered, SamplingParams

# Enough to see what it makes of a prompt; a small machine computes some ten of them a second.
MOST_TOKENS = 256
_USUAL_TOKENS = 64
# Without a seed every export would hold another answer.
_SEED = 0

_GIVEN = {"messages", "tools", "max_tokens", "max_completion_tokens", "temperature", "top_p", "seed", "stop"}
# About the wire, or of the endpoint alone.
_OF_NO_MATTER = {"model", "stream", "stream_options", "logprobs", "top_logprobs", "provider", "user"}
# What models open and close a call with; as control tokens they would not be seen in the text.
_CALL_MARKERS = ("<tool_call>", "</tool_call>", "<|python_tag|>", "[TOOL_CALLS]")


def ask_reference(reference: OpenReference, request: Mapping[str, Any]) -> dict[str, Any]:
    """Its answer in JSON values; where it gives none, why. A reference without weights says how it counts the prompt.

    `not_given` are those of the request's parameters that it was not told.
    """
    if "messages" not in request:
        return {"asked": False, "reason": "not a chat request"}
    if reference.tokenizer is None:
        return {"asked": False, "reason": "no reference is configured"}
    with reference.turn:
        try:
            rendered = reference.tokenizer.render(request["messages"], request.get("tools"))
            answer = (
                {} if reference.engine is None else _generated(reference.engine, reference.allowed, rendered, request)
            )
        except CodedError as error:
            return {"asked": True, "error": {"code": error.code, "message": error.message}}
    return {
        "asked": True,
        "prompt_tokens": len(rendered.ids),
        "tools_rendered": rendered.tools_rendered,
        "not_given": sorted(request.keys() - _GIVEN - _OF_NO_MATTER),
        **answer,
    }


def _generated(
    engine: ReferenceBackend, allowed: Sequence[str], rendered: Rendered, request: Mapping[str, Any]
) -> dict[str, Any]:
    profile = next(iter(allowed), "fp32")
    params = SamplingParams(
        max_tokens=min(_whole(request.get("max_completion_tokens", request.get("max_tokens"))), MOST_TOKENS),
        temperature=_number(request.get("temperature")),
        top_p=_number(request.get("top_p")),
        seed=seed if isinstance(seed := request.get("seed"), int) else _SEED,
        stop=_stops(request.get("stop")),
        shown=_markers(engine) if request.get("tools") else (),
    )
    tokens = list(engine.generate(rendered.ids, params, profile=profile))
    return {
        "profile": profile,
        "fingerprint": engine.fingerprint(profile),
        "max_tokens": params.max_tokens,
        "seed": params.seed,
        "text": "".join(token.text for token in tokens),
        "finish_reason": tokens[-1].finish_reason if tokens else None,
        "completion_tokens": len(tokens),
        "first_token_logprob": tokens[0].logprob if tokens else None,
    }


def _whole(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else _USUAL_TOKENS


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 1.0


def _stops(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    return tuple(stop for stop in value if isinstance(stop, str)) if isinstance(value, Sequence) else ()


def _markers(engine: ReferenceBackend) -> tuple[int, ...]:
    found = [engine.tokenize(marker) for marker in _CALL_MARKERS]
    return tuple(ids[0] for ids in found if len(ids) == 1)

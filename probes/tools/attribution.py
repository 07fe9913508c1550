"""Whose a quirk is: the way to the endpoint, the stack that serves the model, or the model itself."""

from __future__ import annotations

from enum import StrEnum

from probes.quirks import Disposition, Quirk


class Layer(StrEnum):
    """The three things that go wrong for reasons of their own, and are never counted together."""

    TRANSPORT = "transport"
    STACK = "stack"
    MODEL = "model"


# What a model can write wrong by itself, on any stack.
_MODELS = frozenset(
    {
        Quirk.TC_ARGS_INVALID_JSON,
        Quirk.TC_ARGS_DOUBLE_ENCODED,
        Quirk.TC_ARGS_NESTED_STRINGIFIED,
        Quirk.TC_ARGS_CONTROL_CHAR,
        Quirk.TC_UNKNOWN_TOOL,
        Quirk.TC_SCHEMA_MISMATCH,
        Quirk.TC_VALUE_MISMATCH,
        Quirk.TC_PROVIDER_REJECTED,
        Quirk.TC_REPETITION_RUNAWAY,
    }
)

# What an endpoint does without, or does another way, in contract.
_NOBODYS = frozenset(
    {Quirk.LP_NULL, Quirk.USAGE_MISSING, Quirk.USAGE_CUMULATIVE}
    | {quirk for quirk in Quirk if quirk.disposition is Disposition.ACCEPT}
)


def layer_of(quirk: Quirk) -> Layer | None:
    """The layer that a quirk speaks against, None where it speaks against none."""
    if quirk in _NOBODYS:
        return None
    if quirk.disposition is Disposition.ERROR:
        return Layer.TRANSPORT
    return Layer.MODEL if quirk in _MODELS else Layer.STACK

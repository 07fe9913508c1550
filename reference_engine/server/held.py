"""What the answer to a chat request is held to: a schema, calls of its tools, or nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from reference_engine.constraint import Constraint
from reference_engine.errors import EngineRequestError
from reference_engine.server.conversation import declared
from reference_engine.server.errors import ApiError
from reference_engine.server.schema import ChatRequest
from reference_engine.structure import CallForm, Structure

T = TypeVar("T")


async def constraint_of(structure: Structure, request: ChatRequest, form: CallForm | None) -> Constraint | None:
    """Made beside the event loop, since a large schema takes its time. Raises `ApiError` for what cannot be kept."""
    if (schema := request.schema_of_answer) is not None:
        return await _made("response_format", partial(structure.held_to_schema, schema))
    if form is None or request.tool_choice.mode != "required":
        return None
    name = request.tool_choice.name
    tools = [tool for tool in declared(request.tools) or () if name in (None, tool["function"]["name"])]
    several = request.several_calls and name is None
    return await _made("tools", partial(structure.held_to_calls, tools, form, several=several))


async def _made(param: str, make: Callable[[], T]) -> T:
    try:
        return await asyncio.to_thread(make)
    except EngineRequestError as error:
        raise ApiError(f"Invalid '{param}': {error}", wire_code="invalid_value", param=param) from error

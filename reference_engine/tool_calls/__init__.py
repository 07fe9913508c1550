"""Calls of tools: how a model is told of them, how it writes them, and how its answer is read."""

from __future__ import annotations

from reference_engine.tool_calls.family import Family, family_of, marker_ids
from reference_engine.tool_calls.parsed import Malformed, Parsed, ToolCall
from reference_engine.tool_calls.parser import CallParser, parse_calls

__all__ = ["CallParser", "Family", "Malformed", "Parsed", "ToolCall", "family_of", "marker_ids", "parse_calls"]

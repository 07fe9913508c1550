"""What form a chat request wants its answer in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError


class NamedSchema(BaseModel):
    """An answer is held to the schema whether or not `strict` is said; name and description change nothing."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)

    name: str = Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")
    description: str | None = None
    definition: dict[str, Any] = Field(alias="schema")
    strict: bool | None = None


class ResponseFormat(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    type: Literal["text", "json_object", "json_schema"]
    json_schema: NamedSchema | None = None

    @model_validator(mode="after")
    def _has_its_schema(self) -> ResponseFormat:
        if (self.json_schema is not None) != (self.type == "json_schema"):
            raise PydanticCustomError("format_value", "json_schema is given exactly where the type is json_schema")
        return self

    @property
    def schema_of_answer(self) -> Mapping[str, Any] | None:
        """None where any text will do."""
        if self.json_schema is not None:
            return self.json_schema.definition
        return {"type": "object"} if self.type == "json_object" else None

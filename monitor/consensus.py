"""The consensus document: how the endpoints of one model stand beside each other; the one object behind the table, the
JSON and the page."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class ConsensusFinding(StrEnum):
    """What is found of an endpoint, and of all of them. `not_shown` is no proof that there is no difference."""

    DIFFERS = "differs"
    NOT_SHOWN = "not_shown"
    CAMP = "camp"
    LEFT_OUT = "left_out"
    INAPPLICABLE = "inapplicable"


class _Document(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", ser_json_inf_nan="null", json_schema_serialization_defaults_required=True
    )


class EndpointBeside(_Document):
    """An endpoint of the model, held against one endpoint of each other provider. What was not compared has no
    numbers."""

    endpoint_id: str
    provider: str
    served_name: str
    run_id: str | None = Field(default=None, description="its latest whole run within the time that asked anchors")
    at: datetime | None = Field(default=None, description="when that run began")
    prompts: int | None = Field(default=None, description="on which it was compared")
    distance: float | None = Field(
        default=None, description="from the median of the others: mean |Δ| a token in nats, mean over prompts"
    )
    ratio: float | None = Field(
        default=None, description="of its distance to the median one of the others; null without bound"
    )
    p: float | None = Field(default=None, description="of this one look, adjusted for all endpoints that are compared")
    camp: int | None = Field(default=None, description="1, the larger one, or 2, where there are two camps")
    finding: ConsensusFinding
    reason: str = Field(default="", description="why it is left out")


class Camps(_Document):
    """Two groups of providers that agree within themselves and not with each other; the larger one first."""

    members: tuple[tuple[str, ...], tuple[str, ...]]
    ratio: float | None = Field(
        description="of the mean distance between camps to that within them; null without bound"
    )
    p: float


class ConsensusDocument(_Document):
    """Whoever differs differs from the others: which of them is right, nothing here says."""

    schema_: Literal["monitor.consensus/1"] = Field(default="monitor.consensus/1", alias="schema")
    model: str
    since: datetime = Field(description="runs that began earlier do not count")
    until: datetime
    finding: ConsensusFinding = Field(description="differs, not_shown, camp or inapplicable")
    says: str = Field(description="the same in a sentence")
    remedy: str = Field(default="", description="what to do where it is inapplicable")
    providers: int = Field(default=0, description="so many were compared")
    prompts: int = Field(default=0, description="that all of these answered")
    unit: Literal["nat"] = "nat"
    alpha: float = Field(description="the chance that any of them is wrongly said to differ, in one look")
    tolerance: float = Field(description="times the distance of the others that is lawful")
    camps: Camps | None = None
    endpoints: tuple[EndpointBeside, ...] = Field(default=(), description="by provider")

    model_config = ConfigDict(populate_by_name=True)

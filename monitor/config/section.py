"""What every section of the configuration file has in common."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """`strict`, because a config file has types of its own: 'rpm: "60"' is a typo, not a number."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, hide_input_in_errors=True)

"""What the API's documents are made of: their base, and the kinds of value in paths, queries and bodies."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import Path, Query
from pydantic import AfterValidator, AwareDatetime, BaseModel, BeforeValidator, ConfigDict, StringConstraints


class Shape(BaseModel):
    """A document that the API gives. Every field is always there; null means "not known" or "does not apply"."""

    model_config = ConfigDict(from_attributes=True, frozen=True, json_schema_serialization_defaults_required=True)


class Given(BaseModel):
    """A document that the API takes; unknown keys are refused, so that no typing mistake is lost."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")
_DEEPEST = 32


def _written_out(value: object) -> object:
    if isinstance(value, datetime):
        return value
    if not isinstance(value, str) or _TIME.fullmatch(value) is None:
        raise ValueError("must be a time such as 2026-11-29T12:00:00Z")
    return value


def _in_utc(value: datetime) -> datetime:
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise ValueError("is out of range") from None


def is_text(text: str) -> bool:
    """Whether a database takes it: PostgreSQL refuses NUL characters, and none takes lone surrogates."""
    return "\x00" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def _printable(text: str) -> str:
    if not is_text(text):
        raise ValueError("holds a character that is no text")
    return text


def _plain_json(value: Any) -> Any:
    """No database takes NUL characters, lone surrogates, NaN or what is nested without end."""
    _check_json(value, _DEEPEST)
    return value


def _check_json(value: Any, depth: int) -> None:
    if depth == 0:
        raise ValueError(f"is nested deeper than {_DEEPEST} levels")
    match value:
        case str():
            _printable(value)
        case float() if not math.isfinite(value):
            raise ValueError("holds a number that is not finite")
        case int() if abs(value) >= 2**63:
            raise ValueError("holds a number that is too large")
        case dict():
            for key, inner in value.items():
                _printable(key)
                _check_json(inner, depth - 1)
        case list():
            for inner in value:
                _check_json(inner, depth - 1)


Instant = Annotated[AwareDatetime, BeforeValidator(_written_out), AfterValidator(_in_utc)]
Text = Annotated[
    str, StringConstraints(min_length=1, max_length=2000, strip_whitespace=True), AfterValidator(_printable)
]
ShortText = Annotated[
    str, StringConstraints(min_length=1, max_length=128, strip_whitespace=True), AfterValidator(_printable)
]
JsonObject = Annotated[dict[str, Any], AfterValidator(_plain_json)]

SLUG = r"^[a-z0-9][a-z0-9._-]{0,127}$"
METRIC = r"^[a-z0-9][a-z0-9._-]{0,63}$"
_ID = "[0-9A-HJKMNP-TV-Z]{26}$"

Slug = Annotated[str, Path(pattern=SLUG)]
EndpointId = Annotated[str, Path(pattern=f"^ep_{_ID}")]
CheckId = Annotated[str, Path(pattern=f"^chk_{_ID}")]
RunId = Annotated[str, Path(pattern=f"^run_{_ID}")]
AlertId = Annotated[str, Path(pattern=f"^alr_{_ID}")]
SilenceId = Annotated[str, Path(pattern=f"^sil_{_ID}")]
DeliveryId = Annotated[str, Path(pattern=f"^msg_{_ID}")]
TokenId = Annotated[str, Path(pattern=f"^tok_{_ID}")]

WantedEndpoint = Annotated[str, Query(pattern=f"^ep_{_ID}")]
EndpointFilter = Annotated[str | None, Query(alias="endpoint", pattern=f"^ep_{_ID}", description="The endpoint's id.")]
CheckFilter = Annotated[str | None, Query(alias="check", pattern=f"^chk_{_ID}", description="The check's id.")]
ProviderFilter = Annotated[str | None, Query(alias="provider", pattern=SLUG, description="The provider's slug.")]
ModelFilter = Annotated[str | None, Query(alias="model", pattern=SLUG, description="The model's slug.")]
Metric = Annotated[str, Query(pattern=METRIC)]
Since = Annotated[Instant | None, Query(alias="from", description="From this time on.")]
Until = Annotated[Instant | None, Query(alias="to", description="Before this time.")]

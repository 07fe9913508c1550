"""The kinds of value that the configuration file holds, each with its own check.

The checks raise ValueError, as Pydantic asks of validators; its text completes the sentence "KEY: …" and never holds
a value that may be a credential.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    GetJsonSchemaHandler,
    PlainValidator,
    ValidationInfo,
    WithJsonSchema,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from monitor.config.base_url import check_base_url
from monitor.config.private_url import PrivateUrl
from monitor.config.suggestion import suggestion
from monitor.secrets import HeaderValue, SecretRef
from reference_engine.profile import FURTHER_PROFILES, PROFILES

BUNDLED: Literal["bundled"] = "bundled"

_SLUG = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
_MODEL_SLUG = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
_ENDPOINT_NAME = re.compile(f"{_SLUG.pattern}/{_MODEL_SLUG.pattern}")
_HEADER_NAME = re.compile(r"[A-Za-z0-9_-]+")

CLIENT_HEADERS = frozenset(
    {"accept", "accept-encoding", "connection", "content-length", "content-type", "host", "te", "transfer-encoding"}
)

# What an endpoint may run, and be held against then.
_PROFILES = (*PROFILES, *FURTHER_PROFILES)

# What an SLO may promise.
LIMITS = ("ttft", "ttfa", "tpot", "end_to_end")

# What a channel may be told of.
EVENTS = (
    "alert.firing", "alert.resolved", "alert.acknowledged", "alert.flapping", "run.finished",
    "provider.fingerprint_changed", "provider.stack_changed", "budget.exhausted", "monitor.degraded",
)  # fmt: skip

# What a probe asks for is what its judge counts on.
PROBE_KEYS = frozenset(
    {
        "best_of", "echo", "logit_bias", "logprobs", "max_completion_tokens", "max_tokens", "messages", "model", "n",
        "prompt", "response_format", "seed", "stop", "stream", "stream_options", "suffix", "temperature", "tool_choice",
        "tools", "top_logprobs", "top_p",
    }
)  # fmt: skip

# Fewer than for headers: many true parameters, such as skip_special_tokens, have "token" in their names.
BODY_SECRETS = frozenset({"authorization", "apikey", "accesstoken", "authtoken", "token", "password", "secret"})


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("must be text; put it in quotes")
    if not value.strip():
        raise ValueError("must not be empty")
    return value


def _directory(info: ValidationInfo) -> Path:
    """The folder of the configuration file, from which relative paths count."""
    return Path((info.context or {}).get("directory", ""))


def _parse_path(value: object, info: ValidationInfo) -> Path:
    try:
        return _directory(info) / Path(_text(value)).expanduser()
    except RuntimeError as error:
        raise ValueError("names a home directory that is not known") from error


def _parse_weights(value: object, info: ValidationInfo) -> Path | Literal["bundled"]:
    return BUNDLED if value == BUNDLED else _parse_path(value, info)


def _parse_secret_ref(value: object, info: ValidationInfo) -> SecretRef:
    return SecretRef.parse(value if isinstance(value, str) else "", _directory(info))


def _parse_header_value(value: object, info: ValidationInfo) -> HeaderValue:
    return HeaderValue.parse(_text(value), _directory(info))


def _parse_private_url(value: object, info: ValidationInfo) -> PrivateUrl:
    return PrivateUrl.parse(_text(value), _directory(info))


def _check_header_name(name: str) -> str:
    if _HEADER_NAME.fullmatch(name) is None:
        raise ValueError("is not a header name")
    if name.lower() in CLIENT_HEADERS:
        raise ValueError("is set by the client itself; remove it")
    return name


def _check_profile(name: str) -> str:
    if name not in _PROFILES:
        raise ValueError(f"is not a profile; {suggestion(name, _PROFILES)}")
    return name


def _check_extra_body(body: Mapping[str, Any]) -> Mapping[str, Any]:
    taken = sorted(PROBE_KEYS & body.keys())
    if taken:
        raise ValueError(f"must not set {', '.join(taken)}: the probes do")
    secret = [key for key in _keys(body) if key.lower().replace("-", "").replace("_", "") in BODY_SECRETS]
    if secret:
        raise ValueError(f"must not carry {', '.join(secret)}: credentials go into api_key or headers")
    if not _is_finite(body):
        raise ValueError("holds .inf or .nan, which JSON cannot carry")
    return body


def _keys(value: object) -> Iterator[str]:
    """Every key at any depth."""
    match value:
        case dict():
            yield from value
            for inner in value.values():
                yield from _keys(inner)
        case list():
            for inner in value:
                yield from _keys(inner)


def _is_finite(value: object) -> bool:
    match value:
        case float():
            return math.isfinite(value)
        case dict():
            return all(map(_is_finite, value.values()))
        case list():
            return all(map(_is_finite, value))
    return True


def _empty_for_null(value: object) -> object:
    return {} if value is None else value


def _empty_list_for_null(value: object) -> object:
    return [] if value is None else value


def _refuse_empty(value: object) -> object:
    if value == []:
        raise ValueError("must not be empty")
    return value


def _check_matchers(matchers: dict[str, str]) -> dict[str, str]:
    if any(not name.strip() for name in matchers):
        raise ValueError("must name labels, such as { tier: prod }")
    return matchers


def _check_event(name: str) -> str:
    if name not in EVENTS:
        raise ValueError(f"is not an event; {suggestion(name, EVENTS)}")
    return name


def _check_version(value: object) -> int:
    # Python holds true and 1.0 for equal to 1.
    if type(value) is not int or value != 1:
        raise ValueError("must be 1, the only version there is")
    return value


def _check_slug(slug: str) -> str:
    if _SLUG.fullmatch(slug) is None:
        raise ValueError("must be lowercase letters, digits and hyphens, at most 63, and not begin with a hyphen")
    return slug


def _check_model_slug(slug: str) -> str:
    if _MODEL_SLUG.fullmatch(slug) is None:
        raise ValueError("must be lowercase letters, digits, '.', '_' and '-', at most 63, the first a letter or digit")
    return slug


def is_endpoint_name(name: str) -> bool:
    return _ENDPOINT_NAME.fullmatch(name) is not None


def _check_endpoint_name(name: str) -> str:
    if not is_endpoint_name(name):
        raise ValueError("must be PROVIDER/MODEL, by their slugs, such as vendor/big")
    return name


def _pattern(expression: re.Pattern[str]) -> JsonSchemaValue:
    return {"type": "string", "pattern": f"^{expression.pattern}$"}


class _OrNull:
    """Says in the JSON Schema that null is taken as well."""

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"anyOf": [handler(schema), {"type": "null"}]}


# A section of which every line is commented out reads as null.
EMPTY_FOR_NULL = (BeforeValidator(_empty_for_null), _OrNull())
EMPTY_LIST_FOR_NULL = (Field(strict=False), BeforeValidator(_empty_list_for_null), _OrNull())

# YAML has lists only, so the tuple itself is lax; its items stay strict.
NON_EMPTY = (Field(strict=False, min_length=1), BeforeValidator(_refuse_empty))

_REFERENCE_SCHEMA = {"type": "string", "pattern": r"^\s*\$\{(env|file):[^{}]+\}\s*$"}
_TEXT_SCHEMA = {"type": "string", "minLength": 1}

Version = Annotated[int, PlainValidator(_check_version), WithJsonSchema({"const": 1})]
Slug = Annotated[str, AfterValidator(_check_slug), WithJsonSchema(_pattern(_SLUG))]
ModelSlug = Annotated[str, AfterValidator(_check_model_slug), WithJsonSchema(_pattern(_MODEL_SLUG))]
EndpointName = Annotated[str, AfterValidator(_check_endpoint_name), WithJsonSchema(_pattern(_ENDPOINT_NAME))]
Text = Annotated[str, BeforeValidator(_text), WithJsonSchema(_TEXT_SCHEMA)]
RequestsPerMinute = Annotated[int, Field(gt=0, le=1_000_000)]
Concurrency = Annotated[int, Field(gt=0, le=1_000)]
Usd = Annotated[float, Field(gt=0, le=1_000_000, allow_inf_nan=False)]
UsdPerMillionTokens = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Weights = Annotated[Path | Literal["bundled"], PlainValidator(_parse_weights), WithJsonSchema(_TEXT_SCHEMA)]
ConfigPath = Annotated[Path, PlainValidator(_parse_path), WithJsonSchema(_TEXT_SCHEMA)]
SecretReference = Annotated[SecretRef, PlainValidator(_parse_secret_ref), WithJsonSchema(_REFERENCE_SCHEMA)]
ChannelUrl = Annotated[PrivateUrl, PlainValidator(_parse_private_url), WithJsonSchema(_TEXT_SCHEMA)]
HeaderName = Annotated[str, AfterValidator(_check_header_name)]
Header = Annotated[HeaderValue, PlainValidator(_parse_header_value), WithJsonSchema(_TEXT_SCHEMA)]
BaseUrl = Annotated[str, AfterValidator(check_base_url)]
ExtraBody = Annotated[dict[str, Any], AfterValidator(_check_extra_body)]
ProfileName = Annotated[str, AfterValidator(_check_profile), WithJsonSchema({"enum": list(_PROFILES)})]
ProfileNames = Annotated[tuple[ProfileName, ...], *NON_EMPTY]
Names = Annotated[tuple[Text, ...], *NON_EMPTY]
Matchers = Annotated[dict[str, Text], AfterValidator(_check_matchers)]
EventName = Annotated[str, AfterValidator(_check_event), WithJsonSchema({"enum": list(EVENTS)})]

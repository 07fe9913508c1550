"""The configuration file's shape: one frozen Pydantic model per section, unknown keys refused."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from monitor.config.values import (
    EMPTY_FOR_NULL,
    NON_EMPTY,
    BaseUrl,
    Concurrency,
    ConfigPath,
    Duration,
    ExtraBody,
    Header,
    HeaderName,
    ModelSlug,
    Names,
    ProfileNames,
    RequestsPerMinute,
    SecretReference,
    Slug,
    Text,
    UsdPerMillionTokens,
    Version,
    Weights,
)

Api = Literal["openai_chat"]


class Section(BaseModel):
    """`strict`, because a config file has types of its own: 'rpm: "60"' is a typo, not a number."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, hide_input_in_errors=True)


class Defaults(Section):
    """Applies wherever a provider says nothing else. Durations in seconds."""

    timeout: Duration = 60.0
    idle_timeout: Duration = 30.0
    max_concurrency: Concurrency = 4
    rpm: RequestsPerMinute | None = None


class Reference(Section):
    """What the model should be. Without `weights`, `tokenizer` alone gives exact accounting and no fidelity."""

    weights: Weights | None = None
    tokenizer: ConfigPath | None = None
    allowed_profiles: ProfileNames = ("bf16",)


class Model(Section):
    """A model that providers serve. Without a reference it is compared with its own past only."""

    hf: Text | None = None
    reference: Reference | None = None


class Routing(Section):
    """Pins an aggregator to upstream providers; sent as `provider` in the request body, in OpenRouter's form."""

    order: Names | None = None
    only: Names | None = None
    quantizations: Names | None = None
    allow_fallbacks: bool = False

    def body(self) -> dict[str, Any]:
        return self.model_dump(mode="json", exclude_none=True)


class Limits(Section):
    rpm: RequestsPerMinute | None = None
    max_concurrency: Concurrency | None = None


class Prices(Section):
    """US dollars per million tokens."""

    input_usd_per_mtok: UsdPerMillionTokens
    output_usd_per_mtok: UsdPerMillionTokens


class ServedModel(Section):
    """A model as one provider serves it: `model` is a key of the file's `models`, `name` is what the provider says."""

    model: ModelSlug
    name: Text
    labels: dict[str, Text] = Field(default_factory=dict)
    routing: Routing | None = None
    allowed_profiles: ProfileNames | None = None
    extra_body: ExtraBody = Field(default_factory=dict)
    prices: Prices | None = None


class Provider(Section):
    slug: Slug
    name: Text | None = None
    api: Api = "openai_chat"
    base_url: BaseUrl
    allow_private: bool = False
    api_key: SecretReference | None = None
    headers: dict[HeaderName, Header] = Field(default_factory=dict)
    extra_body: ExtraBody = Field(default_factory=dict)
    routing: Routing | None = None
    limits: Annotated[Limits, EMPTY_FOR_NULL] = Limits()
    timeout: Duration | None = None
    idle_timeout: Duration | None = None
    models: Annotated[tuple[ServedModel, ...], *NON_EMPTY]


class ConfigFile(Section):
    version: Version
    defaults: Annotated[Defaults, EMPTY_FOR_NULL] = Defaults()
    models: dict[ModelSlug, Annotated[Model, EMPTY_FOR_NULL]]
    providers: Annotated[tuple[Provider, ...], *NON_EMPTY]


def known_keys(path: tuple[str | int, ...]) -> list[str]:
    """The keys that the section at `path` knows."""
    section: type[BaseModel] = ConfigFile
    in_collection = False
    for step in path:
        if in_collection:
            in_collection = False
            continue
        annotation = section.model_fields[str(step)].annotation
        section = _sections_in(annotation)[0]
        in_collection = annotation is not section and _is_collection(annotation)
    return list(section.model_fields)


def _is_collection(annotation: Any) -> bool:
    return getattr(annotation, "__origin__", None) in {dict, tuple}


def _sections_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [section for part in getattr(annotation, "__args__", ()) for section in _sections_in(part)]

"""The configuration file's shape: one frozen Pydantic model per section, unknown keys refused."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from monitor.config.section import Section
from monitor.config.service import CatchUp, Channel, Maintenance, Retention, Route, Rule, Schedule
from monitor.config.times import Duration, LongDuration, Part
from monitor.config.values import (
    EMPTY_FOR_NULL,
    EMPTY_LIST_FOR_NULL,
    NON_EMPTY,
    BaseUrl,
    Concurrency,
    ConfigPath,
    EndpointName,
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
    Usd,
    UsdPerMillionTokens,
    Version,
    Weights,
)

Api = Literal["openai_chat"]


class Defaults(Section):
    """Applies wherever a provider says nothing else. Durations in seconds."""

    timeout: Duration = 60.0
    idle_timeout: Duration = 30.0
    max_concurrency: Concurrency = 4
    rpm: RequestsPerMinute | None = None
    every: LongDuration = 900.0
    jitter: Part = 0.2
    catch_up: CatchUp = "skip"
    daily_budget_usd: Usd | None = None


class Reference(Section):
    """What the model should be. Without `weights`, `tokenizer` alone gives exact accounting and no fidelity. `endpoint`
    is another provider's entry of the same model, for weights that nobody here can host."""

    weights: Weights | None = None
    tokenizer: ConfigPath | None = None
    endpoint: EndpointName | None = None
    allowed_profiles: ProfileNames = ("bf16",)


class Model(Section):
    """A model that providers serve. Without a reference it is compared with its own past only."""

    hf: Text | None = None
    reference: Reference | None = None
    renamed_from: ModelSlug | None = None


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


class Slo(Section):
    """What a request of at most `up_to` prompt tokens (None: of any size) is to keep to, in seconds."""

    up_to: Annotated[int, Field(gt=0)] | None = None
    ttft: Duration | None = None
    ttfa: Duration | None = None
    tpot: Duration | None = None
    end_to_end: Duration | None = None


class Reasoning(Section):
    """What a request carries to have the model think, and not think: every stack has words of its own."""

    on: ExtraBody
    off: ExtraBody


class ServedModel(Section):
    """A model as one provider serves it: `model` is a key of the file's `models`, `name` is what the provider says.

    `control`: it is our own and does not change, so that a drift found in it is a change on our side. Of `slos` the
    first that is meant for a request's size holds for it. `reasoning`: how it is switched, where it can be.
    """

    model: ModelSlug
    name: Text
    labels: dict[str, Text] = Field(default_factory=dict)
    control: bool = False
    routing: Routing | None = None
    allowed_profiles: ProfileNames | None = None
    extra_body: ExtraBody = Field(default_factory=dict)
    prices: Prices | None = None
    slos: Annotated[tuple[Slo, ...], *EMPTY_LIST_FOR_NULL] = ()
    reasoning: Reasoning | None = None


class Provider(Section):
    """`enabled: false` takes it off every schedule; it may still be probed by hand, and its history stays."""

    slug: Slug
    renamed_from: Slug | None = None
    name: Text | None = None
    enabled: bool = True
    api: Api = "openai_chat"
    base_url: BaseUrl
    allow_private: bool = False
    api_key: SecretReference | None = None
    headers: dict[HeaderName, Header] = Field(default_factory=dict)
    extra_body: ExtraBody = Field(default_factory=dict)
    routing: Routing | None = None
    limits: Annotated[Limits, *EMPTY_FOR_NULL] = Limits()
    timeout: Duration | None = None
    idle_timeout: Duration | None = None
    daily_budget_usd: Usd | None = None
    models: Annotated[tuple[ServedModel, ...], *NON_EMPTY]


class ConfigFile(Section):
    """The whole file. A service starts with next to nothing in it, and gets more through its API."""

    version: Version
    defaults: Annotated[Defaults, *EMPTY_FOR_NULL] = Defaults()
    models: Annotated[dict[ModelSlug, Annotated[Model, *EMPTY_FOR_NULL]], *EMPTY_FOR_NULL] = Field(default_factory=dict)
    providers: Annotated[tuple[Provider, ...], *EMPTY_LIST_FOR_NULL] = ()
    schedules: Annotated[tuple[Schedule, ...], *EMPTY_LIST_FOR_NULL] = ()
    rules: Annotated[tuple[Rule, ...], *EMPTY_LIST_FOR_NULL] = ()
    channels: Annotated[tuple[Channel, ...], *EMPTY_LIST_FOR_NULL] = ()
    routes: Annotated[tuple[Route, ...], *EMPTY_LIST_FOR_NULL] = ()
    maintenance: Annotated[tuple[Maintenance, ...], *EMPTY_LIST_FOR_NULL] = ()
    retention: Annotated[Retention, *EMPTY_FOR_NULL] = Retention()


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

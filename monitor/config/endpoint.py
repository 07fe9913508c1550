"""One endpoint with its settings resolved: everything that one check needs to know."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pydantic_core import to_jsonable_python

from probes.target import Target

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from monitor.config.schema import Api, Defaults, Model, Prices, Provider, Reasoning, Routing, ServedModel, Slo
    from monitor.secrets import HeaderValue, SecretRef


@dataclass(frozen=True, slots=True)
class ReferenceConfig:
    """What the endpoint should be. Without `weights` only the tokenizer is known, or the `endpoint` that is asked the
    same, and `allowed_profiles` is empty."""

    weights: Path | Literal["bundled"] | None
    tokenizer: Path | None
    allowed_profiles: tuple[str, ...]
    endpoint: EndpointConfig | None = None


@dataclass(frozen=True, slots=True)
class EndpointConfig:
    """One provider, one model, and their settings, defaults filled in. Durations are in seconds.

    `name` is what the provider calls the model. `extra_body` is what goes into every request body beside what a probe
    asks for: the provider's, overridden key by key by the model entry's, and `routing` as its `provider` key.
    `headers` does not hold the API key. Keys stand here as references; `target` reads their values. `control`: it is
    our own and does not change. `provider_was` and `model_was`: the slugs that these had before.
    """

    provider: str
    model: str
    name: str
    api: Api
    base_url: str
    allow_private: bool
    api_key: SecretRef | None
    headers: Mapping[str, HeaderValue]
    extra_body: Mapping[str, Any]
    routing: Routing | None
    timeout: float
    idle_timeout: float
    max_concurrency: int
    rpm: int | None
    reference: ReferenceConfig | None
    hf: str | None
    prices: Prices | None
    labels: Mapping[str, str]
    control: bool = False
    provider_was: str | None = None
    model_was: str | None = None
    slos: tuple[Slo, ...] = ()
    reasoning: Reasoning | None = None

    def target(self, environ: Mapping[str, str] | None = None) -> Target:
        """What the client asks, secrets resolved. Raises SecretError for a secret that is not there."""
        key = None if self.api_key is None else self.api_key.resolve(environ).get_secret_value()
        return Target(
            base_url=self.base_url,
            served_name=self.name,
            api_key=key,
            headers={name: value.resolve(environ).get_secret_value() for name, value in self.headers.items()},
            extra_body=self.extra_body,
            allow_private=self.allow_private,
            max_concurrency=self.max_concurrency,
            rpm=self.rpm,
            timeout_s=self.timeout,
            idle_timeout_s=self.idle_timeout,
        )

    @property
    def slug(self) -> str:
        """`PROVIDER/MODEL`, as a reference names it."""
        return f"{self.provider}/{self.model}"

    @property
    def reference_answers(self) -> bool:
        """Whether its reference says anything to prompts that were never asked before."""
        return self.reference is not None and (self.reference.weights or self.reference.endpoint) is not None

    @property
    def matching_labels(self) -> dict[str, str]:
        """What a `match` sees of it: its own labels, and provider and model by their slugs."""
        return {**self.labels, "provider": self.provider, "model": self.model}

    @property
    def digest(self) -> str:
        """SHA-256 over all settings, references unresolved: equal as long as the configuration says the same."""
        return hashlib.sha256(json.dumps(to_jsonable_python(self), sort_keys=True).encode()).hexdigest()


def resolve_endpoint(
    provider: Provider, entry: ServedModel, model: Model, defaults: Defaults, beside: EndpointConfig | None = None
) -> EndpointConfig:
    """The nearest setting wins: model entry, provider, defaults. `beside` is the endpoint that the model's reference
    names, None for that endpoint itself."""
    routing = entry.routing or provider.routing
    pin = {} if routing is None else {"provider": routing.body()}
    return EndpointConfig(
        provider=provider.slug,
        model=entry.model,
        name=entry.name,
        api=provider.api,
        base_url=provider.base_url,
        allow_private=provider.allow_private,
        api_key=provider.api_key,
        headers=provider.headers,
        extra_body={**provider.extra_body, **entry.extra_body, **pin},
        routing=routing,
        timeout=provider.timeout or defaults.timeout,
        idle_timeout=provider.idle_timeout or defaults.idle_timeout,
        max_concurrency=provider.limits.max_concurrency or defaults.max_concurrency,
        rpm=provider.limits.rpm or defaults.rpm,
        reference=_reference(entry, model, beside),
        hf=model.hf,
        prices=entry.prices,
        labels=entry.labels,
        control=entry.control,
        provider_was=provider.renamed_from,
        model_was=model.renamed_from,
        slos=entry.slos,
        reasoning=entry.reasoning,
    )


def _reference(entry: ServedModel, model: Model, beside: EndpointConfig | None) -> ReferenceConfig | None:
    reference = model.reference
    if reference is None:
        return None
    if reference.endpoint is not None:
        return None if beside is None else ReferenceConfig(None, None, (), beside)
    allowed = entry.allowed_profiles or reference.allowed_profiles
    return ReferenceConfig(reference.weights, reference.tokenizer, () if reference.weights is None else allowed)

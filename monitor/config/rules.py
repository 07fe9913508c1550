"""The rules that hold between keys of the configuration file.

They read the plain document, not the validated one, so that one wrong key does not hide what is wrong elsewhere;
whatever has the wrong shape is left to the schema.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from monitor.config.base_url import check_base_url, forbidden_base_url
from monitor.config.places import Finding, Place, PlainSection, mapping, places, repeated
from monitor.config.reference_rules import broken_references
from monitor.config.service_rules import broken_service_rules
from monitor.config.suggestion import suggestion
from monitor.config.values import LIMITS
from monitor.secrets import is_secret_name


def broken_rules(document: object) -> Iterator[Finding]:
    """Each broken rule: the key it is about, and a sentence about it."""
    if not isinstance(document, Mapping):
        return
    models = mapping(document.get("models"))
    providers = list(places(document.get("providers"), ("providers",)))
    yield from broken_references(models, providers)
    yield from _renames({slug: Place(mapping(model), ("models", slug)) for slug, model in models.items()})
    yield from repeated(providers, "slug")
    yield from _renames({str(place.section.get("slug")): place for place in providers})
    for provider in providers:
        yield from _address(provider)
        yield from _headers(provider)
        yield from _served_models(provider, models)
    yield from broken_service_rules(document)


def _renames(entries: Mapping[str, Place]) -> Iterator[Finding]:
    seen: dict[str, str] = {}
    for slug, place in entries.items():
        earlier = place.section.get("renamed_from")
        if not isinstance(earlier, str):
            continue
        if earlier in entries:
            yield (*place.path, "renamed_from"), f"'{earlier}' is still there, so that it was not renamed; remove one"
        elif earlier in seen:
            yield (*place.path, "renamed_from"), f"'{earlier}' became '{seen[earlier]}' already; keep one"
        seen[earlier] = slug


def _address(provider: Place) -> Iterator[Finding]:
    url, allow_private = provider.section.get("base_url"), provider.section.get("allow_private", False)
    if not isinstance(url, str) or not isinstance(allow_private, bool):
        return
    try:
        forbidden = forbidden_base_url(check_base_url(url), allow_private=allow_private)
    except ValueError:
        return
    if forbidden is not None:
        name = provider.section.get("slug")
        yield (
            (*provider.path, "base_url"),
            f"provider '{name}' may not be asked: {forbidden.reason}. {forbidden.remedy}",
        )


def _headers(provider: Place) -> Iterator[Finding]:
    headers = provider.section.get("headers")
    if not isinstance(headers, Mapping):
        return
    seen: set[str] = set()
    for name, value in headers.items():
        path = (*provider.path, "headers", name)
        if name.lower() in seen:
            yield path, "the header is there twice (case does not count); keep one"
        seen.add(name.lower())
        if is_secret_name(name) and isinstance(value, str) and "${" not in value:
            yield path, "carries a credential: write ${env:NAME} or ${file:PATH}; a literal value is refused"
    if "authorization" in seen and provider.section.get("api_key") is not None:
        yield (*provider.path, "api_key"), "is sent as the Authorization header, which headers sets as well; keep one"


def _served_models(provider: Place, models: PlainSection) -> Iterator[Finding]:
    entries = list(places(provider.section.get("models"), (*provider.path, "models")))
    seen: set[str] = set()
    for entry in entries:
        identity = json.dumps([entry.section.get(key) for key in ("model", "name", "routing")], sort_keys=True)
        if identity in seen:
            yield entry.path, "the same model, name and routing are there in an earlier entry; remove one"
        seen.add(identity)
        yield from _known_model(entry, models)
        yield from _slos(entry)
        yield from _reasoning(entry, provider)
        yield from _routing(entry, [entry, provider])
    yield from _routing(provider, [provider, *entries])


def _known_model(entry: Place, models: PlainSection) -> Iterator[Finding]:
    slug = entry.section.get("model")
    if not isinstance(slug, str):
        return
    if slug not in models:
        yield (*entry.path, "model"), f"is not among the file's models; {suggestion(slug, list(models))}"
        return
    model = models[slug]
    reference = model.get("reference") if isinstance(model, Mapping) else None
    weights = reference.get("weights") if isinstance(reference, Mapping) else None
    if weights is None and "allowed_profiles" in entry.section:
        yield (*entry.path, "allowed_profiles"), f"needs a reference with weights, which model '{slug}' lacks"


def _slos(entry: Place) -> Iterator[Finding]:
    for slo in places(entry.section.get("slos"), (*entry.path, "slos")):
        if not any(slo.section.get(key) is not None for key in LIMITS):
            yield slo.path, f"promises nothing; set one of {', '.join(LIMITS)}"


def _reasoning(entry: Place, provider: Place) -> Iterator[Finding]:
    """A switch that changes nothing, or that the extra_body of every request would undo."""
    switch, path = entry.section.get("reasoning"), (*entry.path, "reasoning")
    if not isinstance(switch, Mapping):
        return
    on, off = switch.get("on"), switch.get("off")
    if on == off:
        yield path, "switches nothing: on and off are the same"
    switched = {key for side in (on, off) if isinstance(side, Mapping) for key in side}
    bodies = [place.section.get("extra_body") for place in (entry, provider)]
    fixed = sorted(switched.intersection(key for body in bodies if isinstance(body, Mapping) for key in body))
    if fixed:
        yield path, f"switches {', '.join(fixed)}, which extra_body sets for every request; keep one"


def _routing(place: Place, related: list[Place]) -> Iterator[Finding]:
    """`related` are the sections whose routing ends up in the same request body as the extra_body of `place`."""
    routing, body = place.section.get("routing"), place.section.get("extra_body")
    if isinstance(routing, Mapping) and not any(routing.get(key) for key in ("order", "only", "quantizations")):
        yield (*place.path, "routing"), "pins nothing; set order, only or quantizations"
    routed = any(other.section.get("routing") is not None for other in related)
    if routed and isinstance(body, Mapping) and "provider" in body:
        yield (*place.path, "extra_body"), "sets provider, and so does routing; keep one"

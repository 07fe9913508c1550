"""The rules of a model's reference, and of the endpoint that it may name.

Like monitor/config/rules.py, they read the plain document.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from monitor.config.places import Finding, Place, PlainSection, mapping, places
from monitor.config.suggestion import suggestion
from monitor.config.values import is_endpoint_name


def broken_references(models: PlainSection, providers: Sequence[Place]) -> Iterator[Finding]:
    """Each broken rule: the key it is about, and a sentence about it."""
    for slug, model in models.items():
        reference = mapping(model).get("reference")
        if not isinstance(reference, Mapping):
            continue
        place = Place(reference, ("models", slug, "reference"))
        yield from _shape(place)
        named = reference.get("endpoint")
        if isinstance(named, str) and is_endpoint_name(named):
            why = _unfit(slug, named, providers)
            if why is not None:
                yield (*place.path, "endpoint"), why


def _shape(place: Place) -> Iterator[Finding]:
    weights, tokenizer, endpoint = (place.section.get(key) for key in ("weights", "tokenizer", "endpoint"))
    beside = [key for key in ("weights", "tokenizer") if place.section.get(key) is not None]
    if endpoint is not None and beside:
        yield (*place.path, "endpoint"), f"stands beside {' and '.join(beside)}, and a reference is one thing; keep one"
    elif endpoint is None and weights is None and tokenizer is None:
        yield place.path, "needs weights, tokenizer or endpoint; remove it to monitor without a reference"
    if weights is None and "allowed_profiles" in place.section and (tokenizer is not None or endpoint is not None):
        why = "a tokenizer alone has no numerics" if endpoint is None else "nobody can compute what an endpoint runs"
        yield (*place.path, "allowed_profiles"), f"needs weights: {why}"


def _unfit(slug: str, named: str, providers: Sequence[Place]) -> str | None:
    """Why `named` cannot be the reference of the model `slug`; None where it can."""
    provider, _, model = named.partition("/")
    entries = {str(place.section.get("slug")): _entries(place, slug) for place in providers}
    if provider not in entries:
        return f"names provider '{provider}', which is not among the file's; {suggestion(provider, list(entries))}"
    if model != slug:
        return f"names model '{model}', but a reference serves the same model; write {provider}/{slug}"
    meant = entries[provider]
    if not meant:
        return f"names provider '{provider}', which does not serve '{slug}'; add it to the models of that provider"
    if len(meant) > 1:
        return (
            f"may mean {len(meant)} entries of provider '{provider}'; leave one of '{slug}' there, and give the others "
            "a provider of their own"
        )
    if meant[0].section.get("control") is True:
        return "names a control, which is your own; a reference is another's: name that one, or drop control there"
    if sum(map(len, entries.values())) == 1:
        return f"is the only endpoint of '{slug}', which would be held against itself; add another, or remove this"
    return None


def _entries(provider: Place, model: str) -> list[Place]:
    found = places(provider.section.get("models"), (*provider.path, "models"))
    return [place for place in found if place.section.get("model") == model]

"""What the database knows of a provider, for the commands that look back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from monitor import clock
from monitor.config import load_config, suggestion
from monitor.datadir import DataDir
from monitor.errors import ConfigError, UsageError
from monitor.settings import load_settings
from monitor.store import EndpointRecord, Store
from monitor.store.database import Database


@contextmanager
def opened_store() -> Iterator[Store | None]:
    """The store; None where nothing was ever saved, so that looking back leaves no file behind."""
    settings = load_settings()
    path = Database.named(settings.database).path
    if path is not None and not DataDir(settings.data_dir).has(path):
        yield None
        return
    with Store.open(settings.database, at=clock.now()) as store:
        yield store


@contextmanager
def created_store() -> Iterator[Store]:
    """The store, made where there is none."""
    settings = load_settings()
    DataDir(settings.data_dir).create()
    with Store.open(settings.database, at=clock.now()) as store:
        yield store


def recorded_endpoints(store: Store | None, provider: str, model: str | None) -> list[EndpointRecord]:
    """The endpoints of a provider that were probed, the oldest first; none where it is only configured yet.

    Raises UsageError for a provider or model that is neither in the database nor in the configuration. The latter is
    read only where it decides, so that a broken file does not hide the past.
    """
    found = store.endpoints(provider=provider, model=model) if store is not None else []
    if found:
        return found
    configured = _configured()
    known = sorted({*configured, *(store.providers() if store is not None else [])})
    if provider not in known:
        raise UsageError(
            f"No provider '{provider}' is configured or was ever probed; {suggestion(provider, known)}",
            remedy="`monitor providers list` shows those that are configured.",
        )
    probed = store.endpoints(provider=provider) if store is not None else []
    models = sorted({*configured.get(provider, ()), *(endpoint.model for endpoint in probed)})
    if model is not None and model not in models:
        raise UsageError(
            f"Provider '{provider}' has no model '{model}', now or earlier; {suggestion(model, models)}",
            remedy=f"`monitor providers show {provider}` shows those that are configured.",
        )
    return []


def configured_models() -> set[str]:
    """The models of all configured providers; none without a configuration file."""
    return {model for models in _configured().values() for model in models}


def _configured() -> dict[str, list[str]]:
    """The models of each configured provider; none without a configuration file."""
    try:
        found = load_config(load_settings().config).file.providers
    except ConfigError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return {}
        raise
    return {entry.slug: [served.model for served in entry.models] for entry in found}

"""Whether what the configuration refers to is there: keys, weights, tokenizers. No value is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monitor.config.asking import asking_hints
from monitor.config.base_url import base_url_hint
from monitor.config.label_hints import label_hints
from monitor.config.private_url import is_web_address
from monitor.config.values import BUNDLED
from monitor.deliveries.signature import check_secret
from monitor.errors import SecretError, UsageError
from reference_engine.bundle import bundled_path
from reference_engine.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from monitor.config.load import Config
    from monitor.config.problems import KeyPath, Problem
    from monitor.config.schema import Provider, Reference
    from monitor.config.service import Channel
    from monitor.secrets import SecretRef


def missing_references(config: Config, environ: Mapping[str, str] | None = None) -> list[Problem]:
    """A problem for each secret that cannot be resolved and each path of a reference that does not exist."""
    found = [
        *_missing_files(config),
        *(
            missing
            for index, _ in enumerate(config.file.providers)
            for missing in _missing_secrets(config, index, environ)
        ),
        *(
            (("channels", index, key), problem)
            for index, channel in enumerate(config.file.channels)
            for key, problem in _channel_problems(channel, environ)
        ),
    ]
    return [config.document.problem(path, message) for path, message in found]


def hints(config: Config) -> list[Problem]:
    """What is allowed but probably not meant."""
    found = [
        *_none_to_monitor(config),
        *(
            (("providers", index, "base_url"), hint)
            for index, provider in enumerate(config.file.providers)
            if (hint := base_url_hint(provider.base_url))
        ),
        *_disabled_references(config),
        *label_hints(config),
        *asking_hints(config),
    ]
    return [config.document.problem(path, hint) for path, hint in found]


def _none_to_monitor(config: Config) -> Iterator[tuple[KeyPath, str]]:
    if not config.all_endpoints():
        yield ("providers",), "there is none that is enabled, so nothing is monitored yet"


def _disabled_references(config: Config) -> Iterator[tuple[KeyPath, str]]:
    for slug, model in config.file.models.items():
        named = model.reference and model.reference.endpoint
        if named and not config.provider(named.partition("/")[0]).enabled:
            yield ("models", slug, "reference", "endpoint"), "is not enabled: as a reference it is asked all the same"


def secrets_of(provider: Provider) -> dict[KeyPath, SecretRef]:
    """Every reference to a secret, by where it stands within the provider."""
    found: dict[KeyPath, SecretRef] = {} if provider.api_key is None else {("api_key",): provider.api_key}
    for name, value in provider.headers.items():
        if value.reference is not None:
            found["headers", name] = value.reference
    return found


def secret_problem(reference: SecretRef, environ: Mapping[str, str] | None = None) -> str | None:
    """Why a secret cannot be had, None if it can."""
    try:
        reference.resolve(environ)
    except SecretError as error:
        return str(error)
    return None


def _missing_secrets(config: Config, index: int, environ: Mapping[str, str] | None) -> Iterator[tuple[KeyPath, str]]:
    for key, reference in secrets_of(config.file.providers[index]).items():
        problem = secret_problem(reference, environ)
        if problem is not None:
            yield ("providers", index, *key), problem


def secrets_of_channel(channel: Channel) -> dict[str, SecretRef]:
    """Every reference to a secret, by its key within the channel."""
    found = {"url": channel.url.reference, "secret": channel.secret, "previous_secret": channel.previous_secret}
    return {key: reference for key, reference in found.items() if reference is not None}


def _channel_problems(channel: Channel, environ: Mapping[str, str] | None) -> Iterator[tuple[str, str]]:
    for key, reference in secrets_of_channel(channel).items():
        try:
            value = reference.resolve(environ).get_secret_value()
            if key != "url":
                check_secret(value)
        except (SecretError, UsageError) as error:
            yield key, str(error)
            continue
        if key == "url" and channel.kind == "webhook" and not is_web_address(value):
            yield key, f"{reference} holds no https:// address"


def _missing_files(config: Config) -> Iterator[tuple[KeyPath, str]]:
    for slug, model in config.file.models.items():
        if model.reference is not None:
            for key, path in _paths(model.reference).items():
                if not _exists(path):
                    yield ("models", slug, "reference", key), f"there is no file or folder {path}"
            if model.reference.weights == BUNDLED and (problem := _bundled_problem()):
                yield ("models", slug, "reference", "weights"), problem


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a name too long, a folder that may not be entered
        return False


def _bundled_problem() -> str | None:
    try:
        bundled_path()
    except EngineError as error:
        return str(error)
    return None


def _paths(reference: Reference) -> dict[str, Path]:
    candidates = {"weights": reference.weights, "tokenizer": reference.tokenizer}
    return {key: path for key, path in candidates.items() if path is not None and not isinstance(path, str)}

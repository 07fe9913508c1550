"""A run as the subject of evidence: what is stored of it, and its endpoint as it is configured now."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from monitor.check.identity import key_of, key_of_entry
from monitor.config import Config, EndpointConfig, load_config
from monitor.config.objects import config_from_objects
from monitor.errors import ConfigError, SecretError, UsageError
from monitor.evidence.scrub import Scrubber
from monitor.redaction import KNOWN_SECRETS
from monitor.settings import load_settings
from monitor.store import EndpointRecord, EvidenceRecord, RunRecord, Store
from monitor.store.config import ConfigObjects
from probes.plan import ProbeKind


@dataclass(frozen=True, slots=True)
class Subject:
    """`config` is None where the endpoint is configured no more, or nothing says how."""

    run: RunRecord
    endpoint: EndpointRecord
    evidence: tuple[EvidenceRecord, ...]
    config: EndpointConfig | None

    @property
    def private(self) -> bool:
        """Whether the items belong to whoever made the suite: they are shown to others only when that is asked for."""
        return self.run.probe is ProbeKind.EVALS


def subject_of(store: Store, run_id: str) -> Subject:
    """Raises UsageError where there is no such run, or it has not ended."""
    run = store.run(run_id)
    if not run.status.finished:
        raise UsageError(f"Run {run_id} has not ended.", remedy="Wait for its end; `monitor history` shows it.")
    endpoint = next(found for found in store.endpoints() if found.id == run.endpoint_id)
    return Subject(run, endpoint, store.evidence(run_id), _configured(store, endpoint, run))


def scrubber(subject: Subject) -> Scrubber:
    """Knows every secret of the endpoint that is still there; others were replaced when the answers were stored."""
    config = subject.config
    references = () if config is None else (config.api_key, *(value.reference for value in config.headers.values()))
    for reference in references:
        if reference is not None:
            with suppress(SecretError):
                reference.resolve()
    return Scrubber(KNOWN_SECRETS)


def _configured(store: Store, endpoint: EndpointRecord, run: RunRecord) -> EndpointConfig | None:
    """As it was at the run, if it is still configured so."""
    key = key_of(endpoint)
    entries = [found for config in _configs(store) for found in _entries(config) if key_of_entry(found) == key]
    same = [found for found in entries if found.digest == run.config_digest]
    return next(iter([*same, *entries]), None)


def _configs(store: Store) -> Iterator[Config]:
    """What the service uses, and the file. What cannot be read does not hide the past."""
    stored = [found for found in ConfigObjects(store.sessions).all() if found.enabled]
    with suppress(ConfigError):
        if stored:
            yield config_from_objects(stored)
    with suppress(ConfigError):
        yield load_config(load_settings().config)


def _entries(config: Config) -> list[EndpointConfig]:
    return [found for entry in config.file.providers for found in config.endpoints(entry.slug)]

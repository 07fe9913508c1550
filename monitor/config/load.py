"""Reads the configuration file: all of its problems at once, or the `Config` that the commands ask."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pydantic import ValidationError

from monitor.config.document import Document, DocumentError, parse_document
from monitor.config.endpoint import EndpointConfig, resolve_endpoint
from monitor.config.matching import matches
from monitor.config.problems import KeyPath, Problem, report
from monitor.config.rules import broken_rules
from monitor.config.scheduling import default_schedule, with_defaults
from monitor.config.schema import ConfigFile, Provider, ServedModel, known_keys
from monitor.config.suggestion import suggestion
from monitor.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic_core import ErrorDetails

    from monitor.config.service import Schedule

MAX_FILE_BYTES = 1_000_000

_SHAPES = {
    "string_type": "must be text; put it in quotes",
    "dict_type": "must be a mapping (key: value)",
    "model_type": "must be a mapping (key: value)",
    "tuple_type": "must be a list",
    "bool_type": "must be true or false",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "missing": "is required and missing",
}


@dataclass(frozen=True, slots=True)
class Config:
    """A configuration file without problems."""

    path: Path
    file: ConfigFile
    document: Document = field(repr=False, compare=False)

    def provider(self, slug: str) -> Provider:
        """Raises UsageError for a provider that the file does not have."""
        for provider in self.file.providers:
            if provider.slug == slug:
                return provider
        known = [provider.slug for provider in self.file.providers]
        if not known:
            raise UsageError(
                f"{self.path} has no provider '{slug}', nor any other.",
                remedy="Add it to the file's providers; `monitor config init FILE` writes an example.",
            )
        raise UsageError(
            f"{self.path} has no provider '{slug}'; {suggestion(slug, known)}",
            remedy="`monitor providers list` shows them all.",
        )

    def all_endpoints(self) -> list[EndpointConfig]:
        """The endpoints of every provider that is enabled, in the file's order: what the service checks."""
        return [found for entry in self.file.providers if entry.enabled for found in self.endpoints(entry.slug)]

    def schedule_of(self, endpoint: EndpointConfig) -> Schedule:
        """The first schedule that matches, jitter and catch_up from the defaults where it sets none; else one that the
        defaults make, with the id "default"."""
        labels = endpoint.matching_labels
        for schedule in self.file.schedules:
            if matches(schedule.match, labels):
                return with_defaults(schedule, self.file.defaults)
        return default_schedule(self.file.defaults)

    def daily_budget_microusd(self, provider: str) -> int | None:
        """What a provider may cost in one day (UTC); None: no limit."""
        budget = self.provider(provider).daily_budget_usd or self.file.defaults.daily_budget_usd
        return None if budget is None else round(budget * 1_000_000)

    def endpoints(self, provider: str, model: str | None = None) -> list[EndpointConfig]:
        """The endpoints of one provider in the file's order, or those of one of its models; at least one.

        Raises UsageError for a provider that the file does not have, and for a model that the provider does not have.
        """
        entry = self.provider(provider)
        found = [self._resolved(entry, served) for served in entry.models if model in (None, served.model)]
        if not found:
            known = list(dict.fromkeys(served.model for served in entry.models))
            raise UsageError(
                f"Provider '{provider}' has no model '{model}' in {self.path}; {suggestion(str(model), known)}",
                remedy=f"`monitor providers show {provider}` shows them all.",
            )
        return found

    def _resolved(self, provider: Provider, served: ServedModel) -> EndpointConfig:
        model, defaults = self.file.models[served.model], self.file.defaults
        named = model.reference and model.reference.endpoint
        vendor = self.provider(named.partition("/")[0]) if named else None
        if vendor is None or vendor is provider:
            return resolve_endpoint(provider, served, model, defaults)
        theirs = next(one for one in vendor.models if one.model == served.model)
        return resolve_endpoint(provider, served, model, defaults, resolve_endpoint(vendor, theirs, model, defaults))


@dataclass(frozen=True, slots=True)
class Inspected:
    """A file that was read: `config` is None exactly when there are problems."""

    config: Config | None
    problems: tuple[Problem, ...]


def may_be_there(path: Path) -> bool:
    """False where there is surely no file; where nobody may look, reading it says why."""
    try:
        return path.exists()
    except OSError:
        return True


def load_config(path: Path) -> Config:
    """Raises ConfigError that names every problem of the file, each with its line and key."""
    inspected = inspect_config(path)
    if inspected.config is None:
        raise ConfigError(report(path, inspected.problems), remedy="`monitor config check` checks it again.")
    return inspected.config


def inspect_config(path: Path) -> Inspected:
    """Read and check the file. Raises ConfigError only where there is nothing to check: no file, or unreadable."""
    try:
        document = parse_document(_decode(_read(path)))
    except DocumentError as error:
        return Inspected(None, error.problems)
    if document.data is None:
        return Inspected(None, (Problem(None, "", "is empty; `monitor config init` writes a first one"),))
    return inspect_document(document, path)


def inspect_document(document: Document, path: Path) -> Inspected:
    """Check a document that stands in `path`, from whose folder relative paths count."""
    if not isinstance(document.data, dict):
        return Inspected(None, (Problem(1, "", "must be a mapping that begins with version: 1"),))
    file, problems = _validate(document, path)
    problems += [document.problem(*finding) for finding in broken_rules(document.data)]
    if file is None or problems:
        return Inspected(None, tuple(sorted(problems, key=lambda problem: (problem.line or 0, problem.key))))
    return Inspected(Config(path, file, document), ())


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError as error:
        raise ConfigError(
            f"There is no configuration file {path}.",
            remedy="Run `monitor config init` to write one, or set MONITOR_CONFIG to where yours is.",
        ) from error
    except OSError as error:
        raise ConfigError(
            f"The configuration file {path} cannot be read: {error.strerror}.",
            remedy="Correct its permissions, or set MONITOR_CONFIG to a file that can be read.",
        ) from error
    if len(raw) > MAX_FILE_BYTES:
        raise ConfigError(
            f"The configuration file {path} is larger than {MAX_FILE_BYTES} bytes.",
            remedy="Set MONITOR_CONFIG to the file that holds providers and models.",
        )
    return raw


def _decode(raw: bytes) -> str:
    text = raw.decode("utf-8-sig", errors="replace")
    line = text[: text.find("\N{REPLACEMENT CHARACTER}")].count("\n") + 1
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        problem = Problem(line, "", "holds bytes that are not UTF-8 text")
    # Outside the handler: the decoder's error holds the whole file.
    raise DocumentError([problem])


def _validate(document: Document, path: Path) -> tuple[ConfigFile | None, list[Problem]]:
    try:
        return ConfigFile.model_validate(document.data, context={"directory": path.absolute().parent}), []
    except ValidationError as error:
        # Only what names no value is taken over, and the error itself is dropped: it holds the input.
        details = error.errors(include_url=False)
    return None, [_schema_problem(document, detail) for detail in details]


def _schema_problem(document: Document, detail: ErrorDetails) -> Problem:
    path: KeyPath = tuple(step for step in detail["loc"] if step != "[key]")
    return document.problem(path, _sentence(detail, path))


def _sentence(detail: ErrorDetails, path: KeyPath) -> str:
    kind, context = detail["type"], detail.get("ctx", {})
    if kind == "extra_forbidden":
        return f"unknown key; {suggestion(str(path[-1]), known_keys(path[:-1]))}"
    if kind == "literal_error":
        return f"must be {context['expected']}"
    if kind == "value_error":
        return str(context["error"])
    return _SHAPES.get(kind) or re.sub(r"^Input should be", "must be", detail["msg"])

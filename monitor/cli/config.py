"""`monitor config`: write a first configuration file, check the one there is, and apply it."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from monitor.cli.lazy import LazyEntry, LazyGroup
from monitor.cli.output import print_json, print_message, print_table
from monitor.config import Config, inspect_config
from monitor.config.example import EXAMPLE
from monitor.config.json_schema import json_schema
from monitor.config.presence import hints, missing_references, secrets_of
from monitor.config.problems import report
from monitor.errors import ConfigError, UsageError
from monitor.redaction import redact_known
from monitor.settings import load_settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from monitor.config import Problem, ReferenceConfig

SCHEMA = "monitor.config_check/1"


class Commands(LazyGroup):
    """The first three need no database, and so do not load what talks to one."""

    entries = (
        LazyEntry("init", f"{__name__}:init", "Write a commented configuration file to begin with."),
        LazyEntry("check", f"{__name__}:check", "Check the file, and that what it refers to is there."),
        LazyEntry("schema", f"{__name__}:schema", "Print the JSON Schema of the file."),
        LazyEntry("diff", "monitor.cli.config_objects:diff", "Show what `apply` would change."),
        LazyEntry("apply", "monitor.cli.config_objects:apply", "Make the file the configuration that counts."),
        LazyEntry("export", "monitor.cli.config_objects:export", "Print the stored configuration as one file."),
    )


app = typer.Typer(cls=Commands, no_args_is_help=True, help="Write, check and apply the configuration file.")


def init(
    file: Annotated[Path | None, typer.Argument(help="Default: MONITOR_CONFIG, else ./providers.yaml.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Write a commented configuration file that works with a local `reference-engine serve`."""
    path = file or load_settings().config
    if not path.name:
        raise UsageError(f"{path} is a folder.", remedy="Name a file in it.")
    try:
        _write(path, EXAMPLE, os.replace if force else os.link)
    except FileExistsError:
        raise UsageError(f"{path} is there already.", remedy="--force replaces it.") from None
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be written: {error.strerror}.", remedy="Name another FILE, or make its folder first."
        ) from error
    print_message(f"Wrote {path}. Next: `monitor config check`, then `monitor probe --provider x`.")


def check(as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False) -> None:
    """Check the configuration file, and that the keys and files it refers to are there."""
    path = load_settings().config
    inspected = inspect_config(path)
    problems = list(inspected.problems)
    notes: list[Problem] = []
    if inspected.config is not None:
        problems += missing_references(inspected.config)
        notes = hints(inspected.config)
    if as_json:
        print_json(_document(path, inspected.config, problems, notes))
        raise typer.Exit(ConfigError.exit_code if problems else 0)
    for note in notes:
        print_message(f"note: {note.located(path)}")
    if problems or inspected.config is None:
        raise ConfigError(report(path, problems), remedy="`monitor config check` checks it again.")
    _print_summary(inspected.config)


def schema() -> None:
    """Print the JSON Schema of the configuration file."""
    typer.echo(json_schema(), nl=False)


def _write(path: Path, text: str, publish: Callable[[Path, Path], None]) -> None:
    """Write beside `path`, then `publish` (link: only where nothing is; replace: whatever is there)."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        draft.write_text(text, encoding="utf-8")
        publish(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def _document(path: Path, config: Config | None, problems: list[Problem], notes: list[Problem]) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "file": str(path),
        "ok": not problems,
        "problems": [_as_dict(problem) for problem in problems],
        "notes": [_as_dict(note) for note in notes],
        "providers": [] if config is None else [provider.slug for provider in config.file.providers],
        "models": [] if config is None else list(config.file.models),
    }


def _as_dict(problem: Problem) -> dict[str, Any]:
    return {"line": problem.line, "key": problem.key, "message": redact_known(problem.message)}


def _print_summary(config: Config) -> None:
    rows = []
    for provider in config.file.providers:
        keys = ", ".join(map(str, secrets_of(provider).values())) or "none"
        for endpoint in config.endpoints(provider.slug):
            reference = "none"
            if endpoint.reference is not None:
                reference = _named(endpoint.reference)
            allowed = ", ".join(endpoint.reference.allowed_profiles) if endpoint.reference else ""
            rows.append((provider.slug, endpoint.model, endpoint.name, reference, allowed, keys))
    print_table(("provider", "model", "served as", "reference", "allowed profiles", "keys"), rows)
    typer.echo(f"{config.path} is valid.")


def _named(reference: ReferenceConfig) -> str:
    if reference.endpoint is not None:
        return f"{reference.endpoint.slug} (endpoint)"
    return str(reference.weights or f"{reference.tokenizer} (tokenizer only)")

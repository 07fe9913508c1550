"""`monitor config diff|apply|export`: the configuration file against what the database holds of it."""

from __future__ import annotations

import getpass
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import typer
import yaml

from monitor import clock
from monitor.cli.output import print_json, print_message
from monitor.cli.recorded import created_store, opened_store
from monitor.config import load_config
from monitor.config.objects import Change, FileObject, Plan, StoredObject, document_data, objects_of, plan
from monitor.errors import UsageError
from monitor.settings import load_settings
from monitor.store.config import ConfigObjects
from monitor.store.vocabulary import ConfigKind

SCHEMA = "monitor.config_plan/1"

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


def diff(as_json: AsJson = False) -> None:
    """Show what `monitor config apply` would change. Nothing is checked against objects that the API made."""
    wanted = _file_objects()
    _show(plan(wanted, _stored()), as_json=as_json, applied=False)


def apply(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check and show the plan; change nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make the configuration file the one that counts, in one transaction. What it no longer names is disabled and
    keeps its history."""
    wanted = _file_objects()
    at = clock.now()
    with created_store() as store:
        objects = ConfigObjects(store.sessions)
        change = objects.rehearse if dry_run else objects.apply
        made = change(wanted, actor=f"cli:{_user()}", at=at)
    _show(made, as_json=as_json, applied=not dry_run)


def export() -> None:
    """Print the stored configuration, the file's objects and the API's, as one file. Secrets stay references."""
    stored = [found for found in _stored() if found.enabled]
    if not stored:
        raise UsageError("No configuration was ever applied.", remedy="`monitor config apply` applies the file.")
    typer.echo(yaml.safe_dump(document_data(stored), sort_keys=False, allow_unicode=True, width=120), nl=False)


def _file_objects() -> tuple[FileObject, ...]:
    return objects_of(load_config(load_settings().config))


def _stored() -> Sequence[StoredObject]:
    with opened_store() as store:
        return [] if store is None else ConfigObjects(store.sessions).all()


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user need not have a name
        return "unknown"


def _show(made: Plan, *, as_json: bool, applied: bool) -> None:
    if as_json:
        print_json(_document(made, applied=applied))
        return
    for line in _lines(made):
        typer.echo(line)
    for hint in _forgotten_names(made):
        print_message(hint)
    if not made.changes:
        print_message("Nothing to change.")
    elif applied:
        print_message(f"Applied {len(made.changes)} changes; {len(made.unchanged)} objects stay as they are.")
    else:
        print_message("`monitor config apply` applies it.")


def _lines(made: Plan) -> Iterator[str]:
    yield from (f"+ {change}" for change in made.create)
    yield from (f"> {change}: {', '.join((f'was {change.renamed_from}', *change.keys))}" for change in made.rename)
    yield from (f"~ {change}: {', '.join(change.keys) or 'managed by the file from now on'}" for change in made.update)
    yield from (f"- {change}" for change in made.disable)


def _forgotten_names(made: Plan) -> Iterator[str]:
    """A provider that goes, and a new one at its address: most likely one that was renamed."""
    gone = {_address(change.before): change.slug for change in made.disable if change.kind is ConfigKind.PROVIDER}
    for change in made.create:
        if change.kind is ConfigKind.PROVIDER and (earlier := gone.get(_address(change.after))):
            yield f"Is {change} what {earlier} was? With `renamed_from: {earlier}` it keeps its history."


def _address(body: Mapping[str, Any] | None) -> Any:
    return None if body is None else body.get("base_url")


def _document(made: Plan, *, applied: bool) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "applied": applied,
        "create": [_named(change) for change in made.create],
        "rename": [
            {**_named(change), "renamed_from": change.renamed_from, "keys": list(change.keys)} for change in made.rename
        ],
        "update": [{**_named(change), "keys": list(change.keys)} for change in made.update],
        "disable": [_named(change) for change in made.disable],
        "unchanged": len(made.unchanged),
    }


def _named(change: Change) -> dict[str, str]:
    return {"kind": change.kind.value, "slug": change.slug}

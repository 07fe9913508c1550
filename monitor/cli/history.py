"""`monitor history`: the past checks of a provider, as a table, JSON or CSV."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from monitor import clock
from monitor.cli.output import print_json, print_message, stdout_console
from monitor.cli.recorded import opened_store, recorded_endpoints
from monitor.cli.since import parse_since
from monitor.errors import UsageError
from monitor.render.history import history_csv, history_document, history_table
from monitor.store import CheckRecord

MOST_CHECKS = 100_000


def history(
    provider: Annotated[str, typer.Option(help="The provider's slug.")],
    model: Annotated[str | None, typer.Option(help="Only this model.")] = None,
    since: Annotated[
        str | None, typer.Option(help="Only checks from this time on: 12h, 30d, 4w, or a date such as 2026-11-01.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=MOST_CHECKS, help="At most so many checks, the latest ones.")] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print comma-separated values.")] = False,
) -> None:
    """Show past runs and verdicts of a provider, newest first."""
    if as_json and as_csv:
        raise UsageError("--json and --csv exclude each other.", remedy="Give one of them.")
    checks = _checks(provider, model, since, limit)
    if as_json:
        print_json(history_document(checks))
    elif as_csv:
        sys.stdout.write(history_csv(checks))
    elif checks:
        stdout_console().print(history_table(checks))
    else:
        which = provider if model is None else f"{provider} / {model}"
        when = "yet" if since is None else f"since {since}"
        print_message(f"No runs of {which} {when}. `monitor probe --provider {provider}` makes one.")


def _checks(provider: str, model: str | None, since: str | None, limit: int) -> list[CheckRecord]:
    start = None if since is None else parse_since(since, clock.now())
    with opened_store() as store:
        recorded = recorded_endpoints(store, provider, model)
        if store is None or not recorded:
            return []
        return store.history(provider=provider, model=model, since=start, limit=limit)

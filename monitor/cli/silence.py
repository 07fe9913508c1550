"""`monitor silence`: hold back the notices of some alerts for a time; they are measured and kept all the same."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

import typer

from monitor import clock
from monitor.cli.access_store import this_person
from monitor.cli.output import print_json, print_message, stdout_console
from monitor.cli.recorded import created_store, opened_store
from monitor.config.times import parse_long_duration
from monitor.errors import NotFoundError, UsageError
from monitor.render.alerts import SILENCES_SCHEMA, minute, silence_item, silence_table
from monitor.store.alerts import Alerts, SilenceRecord
from monitor.store.keyset import Window

MOST_SILENCES = 10_000

app = typer.Typer(no_args_is_help=True, help="Hold back notices of alerts for a time.")


@app.command()
def add(
    labels: Annotated[list[str], typer.Argument(help="Labels that have to fit, NAME=VALUE; * stands for anything.")],
    lasts: Annotated[str, typer.Option("--for", help="How long from now on: 90m, 2h, 7d.")],
    comment: Annotated[str, typer.Option(help="Why: it is kept with the silence.")],
) -> None:
    """Silence the alerts whose labels all fit, from now on, for a time that ends."""
    matchers = dict(_matcher(text) for text in labels)
    now = clock.now()
    ends_at = now + timedelta(seconds=_seconds(lasts))
    with created_store() as store:
        made = Alerts(store.sessions).add_silence(
            matchers, starts_at=now, ends_at=ends_at, author=this_person(), comment=comment, at=now
        )
    _told(made)


@app.command("list")
def list_silences(
    everything: Annotated[bool, typer.Option("--all", help="Also those that are over.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=MOST_SILENCES, help="At most so many, the latest ones.")] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """List the silences that hold now or will."""
    now = clock.now()
    with opened_store() as store:
        found = (
            Alerts(store.sessions).silences(Window(limit), not_over_at=None if everything else now).items
            if store is not None
            else ()
        )
    if as_json:
        print_json({"schema": SILENCES_SCHEMA, "items": [silence_item(silence, now) for silence in found]})
    elif found:
        stdout_console().print(silence_table(found, now))
    else:
        print_message("No silences." if everything else "No silence holds.")


@app.command()
def expire(silence: Annotated[str, typer.Argument(help="The silence's id, sil_….")]) -> None:
    """End a silence now: notices of its alerts are sent again."""
    with opened_store() as store:
        if store is None:
            raise NotFoundError(f"There is no silence {silence}.", remedy="`monitor silence list --all` shows the ids.")
        _told(Alerts(store.sessions).expire_silence(silence, actor=this_person(), at=clock.now()))


def _matcher(text: str) -> tuple[str, str]:
    name, equals, pattern = text.partition("=")
    if not (name and equals and pattern):
        raise UsageError(f"'{text}' is not a label with its value.", remedy="Write NAME=VALUE, such as provider=acme.")
    return name, pattern


def _seconds(text: str) -> float:
    try:
        return parse_long_duration(text)
    except ValueError as error:
        raise UsageError(f"--for '{text}' {error}.", remedy="Write 90m, 2h or 7d.") from error


def _told(silence: SilenceRecord) -> None:
    typer.echo(f"{silence.id} until {minute(silence.ends_at)} UTC")

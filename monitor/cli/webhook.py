"""`monitor webhook`: try channels, see what was sent to them and send it again, and check what comes in."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from monitor import clock
from monitor.cli.listen import listen
from monitor.cli.output import print_json, print_message, stdout_console
from monitor.cli.recorded import opened_store
from monitor.cli.since import parse_since
from monitor.cli.webhook_secret import read_secret
from monitor.config import load_config, suggestion
from monitor.config.objects import config_from_objects
from monitor.config.service import Channel
from monitor.deliveries.incoming import read_message
from monitor.deliveries.signature import mismatch, new_secret
from monitor.deliveries.trial import send_test
from monitor.errors import NotFoundError, UsageError
from monitor.render.deliveries import channel_line, deliveries_document, delivery_table
from monitor.settings import load_settings
from monitor.store.config import ConfigObjects
from monitor.store.deliveries import Deliveries
from monitor.store.keyset import Window
from monitor.store.vocabulary import DeliveryStatus

MOST_DELIVERIES = 10_000
EXIT_REFUSED, EXIT_UNREACHABLE = 3, 5

app = typer.Typer(no_args_is_help=True, help="Try channels, and see what was sent to them.")
app.command("listen")(listen)


@app.command()
def test(channel: Annotated[str, typer.Argument(help="The channel's id.")]) -> None:
    """Send a test message to a channel now. Exits 5 where it is not taken."""
    channels = _configured_channels()
    tried = send_test(channels.named(channel), clock.now(), external_url=load_settings().external_url)
    print_message(f"The channel is taken from {channels.source}.")
    typer.echo(f"{channel}: {'taken' if tried.ok else 'NOT taken'}, {tried} ({tried.milliseconds:.0f} ms)")
    if not tried.ok:
        raise typer.Exit(EXIT_UNREACHABLE)


@app.command()
def deliveries(
    channel: Annotated[str | None, typer.Option(help="Only this channel's.")] = None,
    status: Annotated[DeliveryStatus | None, typer.Option(help="Only those with this status.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=MOST_DELIVERIES, help="At most so many, the latest ones.")] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document, with every try.")] = False,
) -> None:
    """List what was sent to channels, or waits to be, the latest first."""
    with opened_store() as store:
        kept = Deliveries(store.sessions) if store is not None else None
        found = kept.page(Window(limit), channel=channel, status=status).items if kept else ()
        channels = kept.channels() if kept else []
        if channel is not None and channel not in {state.channel for state in channels}:
            _configured_channels().named(channel)
        tries = {entry.id: kept.attempts(entry.id) for entry in found} if kept and as_json else {}
    if as_json:
        print_json(deliveries_document(found, tries, channels))
        return
    if found:
        stdout_console().print(delivery_table(found))
    else:
        print_message("No deliveries.")
    for line in filter(None, map(channel_line, channels)):
        print_message(line)


@app.command()
def redeliver(
    ids: Annotated[list[str] | None, typer.Argument(help="Deliveries to send again, msg_….")] = None,
    channel: Annotated[str | None, typer.Option(help="Of a time: only this channel's.")] = None,
    since: Annotated[str | None, typer.Option(help="In place of ids: what was made from this time on.")] = None,
    until: Annotated[str | None, typer.Option(help="With --since: what was made before this time.")] = None,
) -> None:
    """Send deliveries again, in their order and under the same ids; a channel that was switched off is on again."""
    if bool(ids) == bool(since):
        raise UsageError("Which deliveries?", remedy="Give their ids, or a time with --since.")
    if ids and (channel or until):
        raise UsageError("--channel and --until go with --since.", remedy="Leave them out, or the ids.")
    now = clock.now()
    with opened_store() as store:
        if store is None:
            raise NotFoundError("Nothing was ever sent.", remedy="`monitor webhook test CHANNEL` sends a test message.")
        kept = Deliveries(store.sessions)
        again = kept.redeliver(ids, now) if ids else kept.redeliver_between(channel, *_between(since, until, now), now)
    typer.echo(f"{len(again)} to be sent again by the next worker.")


@app.command()
def verify(
    file: Annotated[
        Path | None, typer.Argument(help="Header lines, an empty line, the body; stdin if left out.")
    ] = None,
    secret_file: Annotated[Path, typer.Option(help="Holds the channel's secret, whsec_….")] = Path("webhook-secret"),
    any_age: Annotated[
        bool, typer.Option("--any-age", help="Also one that was signed more than 5 minutes ago.")
    ] = False,
) -> None:
    """Check the signature of a message. Exits 3 where it is not to be trusted."""
    message = read_message(_raw(file))
    problem = mismatch(message.headers, message.body, [read_secret(secret_file)], None if any_age else clock.now())
    typer.echo("verified" if problem is None else f"NOT to be trusted: {problem}")
    if problem is not None:
        raise typer.Exit(EXIT_REFUSED)


@app.command()
def secret() -> None:
    """Print a new secret, to be kept where both sides of a channel read it."""
    typer.echo(new_secret())


@dataclass(frozen=True, slots=True)
class _Channels:
    """Those of one configuration; `source` says of which."""

    source: str
    remedy: str
    by_name: Mapping[str, Channel]

    def named(self, name: str) -> Channel:
        if name not in self.by_name:
            raise NotFoundError(
                f"No channel '{name}' is configured in {self.source}; {suggestion(name, self.by_name)}",
                remedy=self.remedy,
            )
        return self.by_name[name]


def _configured_channels() -> _Channels:
    """What a service would use: the database's, where a configuration was ever applied; else the file's."""
    with opened_store() as store:
        stored = [] if store is None else [found for found in ConfigObjects(store.sessions).all() if found.enabled]
    if stored:
        config, source = config_from_objects(stored), "the database"
        remedy = "`monitor config apply` brings the file's channels into the database."
    else:
        config, source = load_config(load_settings().config), str(load_settings().config)
        remedy = "Channels are listed under `channels` in the configuration file."
    return _Channels(source, remedy, {entry.id: entry for entry in config.file.channels})


def _between(since: str | None, until: str | None, now: datetime) -> tuple[datetime, datetime]:
    return parse_since(since or "", now), now if until is None else parse_since(until, now)


def _raw(file: Path | None) -> bytes:
    if file is None:
        return sys.stdin.buffer.read()
    try:
        return file.read_bytes()
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}.", remedy="Give the path of a message.") from error

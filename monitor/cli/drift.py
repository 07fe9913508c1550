"""`monitor drift`: what an endpoint's rounds add up to, shown as it stands or computed anew; and which of a model's
endpoints differs."""

from __future__ import annotations

from typing import Annotated

import typer

from monitor import clock
from monitor.cli.consensus import consensus
from monitor.cli.output import print_json, print_message, stdout_console
from monitor.cli.recorded import opened_store, recorded_endpoints
from monitor.errors import ReplayDiffersError, UsageError
from monitor.render.drift import (
    ReplayedEpoch,
    against_lines,
    epochs_table,
    replay_document,
    run_head,
    run_table,
    sum_of,
)
from monitor.render.streams import document_of
from monitor.render.streams_terminal import print_streams
from monitor.store import Store
from monitor.store.stream_views import StreamViews
from monitor.store.streams import Streams
from monitor.streams_document import ShownStreams

app = typer.Typer(
    no_args_is_help=True,
    help="Show what rounds add up to, or compute it anew; hold a model's endpoints against each other.",
)
app.command()(consensus)


@app.command()
def show(
    provider: Annotated[str, typer.Option(help="The provider's slug.")],
    model: Annotated[str | None, typer.Option(help="Only this model.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Show how the streams of a provider's endpoints stand: E, levels, since when, and what comes next."""
    at = clock.now()
    with opened_store() as store:
        endpoints = recorded_endpoints(store, provider, model)
        views = [] if store is None else [StreamViews(store.sessions).view(one.id) for one in endpoints]
    documents = tuple(document_of(one, view, at) for one, view in zip(endpoints, views, strict=True))
    if as_json:
        print_json(ShownStreams(items=documents).model_dump(mode="json", by_alias=True))
        return
    if not documents:
        print_message(f"No endpoint of {provider} was asked yet.")
    console = stdout_console()
    for number, document in enumerate(documents):
        if number:
            typer.echo()
        print_streams(console, document)


@app.command()
def replay(
    run: Annotated[
        str | None, typer.Argument(help="A run, run_…, whose evidence streams were given.", show_default=False)
    ] = None,
    provider: Annotated[str | None, typer.Option(help="All epochs of this provider's endpoints.")] = None,
    model: Annotated[str | None, typer.Option(help="Only this model's.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Compute the states of streams anew from stored evidence, and compare them with what is stored, bit for bit."""
    epochs = _replayed(run, provider, model)
    if not as_json:
        _print(epochs, provider)
    for one in epochs:
        if one.replayed.difference is not None:
            raise ReplayDiffersError(
                f"Epoch {one.replayed.epoch.number} of {one.name} is not what its evidence gives: "
                f"{one.replayed.difference}.",
                remedy="Were rows changed by hand, or numpy and scipy replaced within the epoch? The evidence counts: "
                "restore a backup, or close the epoch.",
            )
    if as_json:
        print_json(replay_document(epochs))


def _replayed(run: str | None, provider: str | None, model: str | None) -> list[ReplayedEpoch]:
    if (run is None) == (provider is None) or (provider is None and model is not None):
        raise UsageError("What to replay is not clear.", remedy="Name a run, or --provider (and --model).")
    with opened_store() as store:
        if run is not None:
            return [_of_run(store, run)]
        found = []
        for endpoint in recorded_endpoints(store, provider or "", model):
            if store is not None:
                streams = Streams(store.sessions)
                numbers = [epoch.number for epoch in streams.epochs(endpoint.id)]
                found += [ReplayedEpoch(endpoint, streams.replay(endpoint.id, number)) for number in numbers]
        return found


def _of_run(store: Store | None, run: str) -> ReplayedEpoch:
    if store is None:
        raise UsageError(f"There is no run {run}.", remedy="`monitor history --provider … --json` shows the ids.")
    endpoint_id = store.run(run).endpoint_id
    replayed = Streams(store.sessions).replay_run(run)
    (endpoint,) = (one for one in store.endpoints() if one.id == endpoint_id)
    return ReplayedEpoch(endpoint, replayed)


def _print(epochs: list[ReplayedEpoch], provider: str | None) -> None:
    if provider is not None:
        if epochs:
            stdout_console().print(epochs_table(epochs))
            for line in against_lines(epochs):
                typer.echo(line)
        else:
            print_message(f"No streams of {provider} are kept yet.")
        return
    for one in epochs:
        if one.replayed.run is not None:
            typer.echo(run_head(one, one.replayed.run))
            stdout_console().print(run_table(one.replayed.run))
        typer.echo(sum_of(one))

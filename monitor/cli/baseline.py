"""`monitor baseline`: what an endpoint is compared with; show it, accept a run as the new one, or start anew."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from monitor import clock
from monitor.cli.access_store import this_person
from monitor.cli.output import print_json, print_message, stdout_console
from monitor.cli.recorded import opened_store, recorded_endpoints
from monitor.errors import UsageError
from monitor.redaction import safe_text
from monitor.store import BaselineRecord, BaselineRole, BaselineStatus, EndpointRecord, Store
from probes.plan import ProbeKind

SCHEMA = "monitor.baseline/1"

app = typer.Typer(no_args_is_help=True, help="Show, accept or reset what an endpoint is compared with.")

Provider = Annotated[str, typer.Option(help="The provider's slug.")]
Model = Annotated[str | None, typer.Option(help="The model; needed where the provider has several.")]
Suite = Annotated[str | None, typer.Option(help="Only the baseline of this private suite.")]
Note = Annotated[str, typer.Option(help="Why: it is kept with the baseline.")]


@app.command()
def show(
    provider: Provider,
    model: Annotated[str | None, typer.Option(help="Only this model.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Show every baseline of a provider's endpoints, the active ones and those before them."""
    with opened_store() as store:
        endpoints = recorded_endpoints(store, provider, model)
        found = [(one, baseline) for one in endpoints if store is not None for baseline in store.baselines(one.id)]
    if as_json:
        print_json({"schema": SCHEMA, "items": [_item(endpoint, baseline) for endpoint, baseline in found]})
    elif found:
        stdout_console().print(_table(found))
    else:
        print_message(f"No baseline of {provider} yet. The first saved run of `monitor probe` enrols.")


@app.command()
def accept(
    provider: Provider,
    note: Note,
    model: Model = None,
    run: Annotated[
        str | None, typer.Option("--run", help="The run to accept, run_…; default: the latest of each probe.")
    ] = None,
    suite: Suite = None,
) -> None:
    """Accept what an endpoint is now: later runs are compared with the accepted one, and its streams with the rounds
    since they changed."""
    with opened_store() as store:
        endpoints = recorded_endpoints(store, provider, model)
        if store is None or not endpoints:
            raise _nothing_recorded(provider)
        endpoint = _probed_last(store, endpoints) if run is None else _endpoint_of(store, endpoints, run)
        if run is None and suite is None:
            _accept_all(store, endpoint, note)
            return
        _say_opened(
            endpoint,
            store.accept_baseline(
                endpoint.id, probe=_probe_of(suite), run_id=run, suite=suite, note=note, at=clock.now()
            ),
        )


@app.command()
def reset(provider: Provider, note: Note, model: Model = None, suite: Suite = None) -> None:
    """Forget what an endpoint is compared with: its next saved run enrols. Nothing is deleted."""
    with opened_store() as store:
        endpoints = recorded_endpoints(store, provider, model)
        if store is None or not endpoints:
            raise _nothing_recorded(provider)
        endpoint = _probed_last(store, endpoints)
        closed = store.reset_baseline(endpoint.id, suite=suite, note=note, at=clock.now())
    for baseline in closed:
        typer.echo(f"{_name(endpoint)} {_about(baseline)}: v{baseline.version} closed")
    print_message(f"The next saved run of `monitor probe --provider {provider}` enrols.")


def _accept_all(store: Store, endpoint: EndpointRecord, note: str) -> None:
    accepted = store.accept_all(endpoint.id, note=note, at=clock.now(), actor=this_person())
    _say_opened(endpoint, accepted.baselines)
    if accepted.epoch is not None:
        epoch = accepted.epoch
        typer.echo(
            f"{_name(endpoint)} streams: epoch {epoch.opened.epoch.number} with {epoch.rounds} rounds since "
            f"{epoch.since:%Y-%m-%d %H:%M} UTC"
        )


def _say_opened(endpoint: EndpointRecord, opened: list[BaselineRecord]) -> None:
    for baseline in opened:
        typer.echo(f"{_name(endpoint)} {_about(baseline)}: v{baseline.version} with {baseline.runs[0].run_id}")


def _probed_last(store: Store, endpoints: list[EndpointRecord]) -> EndpointRecord:
    """Of a model's endpoints (its served name or routing may have changed over time) the one in use now."""
    models = sorted({endpoint.model for endpoint in endpoints})
    provider = endpoints[0].provider
    if len(models) > 1:
        raise UsageError(f"Provider '{provider}' has several models: {', '.join(models)}.", remedy="Name one: --model.")
    latest = store.history(provider=provider, model=models[0], limit=1)
    if not latest:
        raise _nothing_recorded(provider)
    return latest[0].endpoint


def _endpoint_of(store: Store, endpoints: list[EndpointRecord], run_id: str) -> EndpointRecord:
    wanted = store.run(run_id).endpoint_id
    for endpoint in endpoints:
        if endpoint.id == wanted:
            return endpoint
    raise UsageError(
        f"Run {run_id} is not one of {endpoints[0].provider}'s.",
        remedy=f"`monitor history --provider {endpoints[0].provider} --json` shows the ids.",
    )


def _nothing_recorded(provider: str) -> UsageError:
    return UsageError(f"No run of {provider} is saved yet.", remedy=f"Run `monitor probe --provider {provider}` first.")


def _probe_of(suite: str | None) -> ProbeKind | None:
    return None if suite is None else ProbeKind.EVALS


def _about(baseline: BaselineRecord) -> str:
    return f"{baseline.probe.value} {baseline.suite}".strip()


def _name(endpoint: EndpointRecord) -> str:
    return safe_text(f"{endpoint.provider} / {endpoint.model} (as {endpoint.served_name})")


def _table(found: list[tuple[EndpointRecord, BaselineRecord]]) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for column in ("model", "served as", "probe", "version", "status", "since (UTC)", "runs", "set by", "note"):
        table.add_column(column, no_wrap=column != "note", overflow="fold")
    for endpoint, baseline in found:
        joined = sum(member.role is BaselineRole.ACCEPTED for member in baseline.runs)
        table.add_row(
            Text(safe_text(endpoint.model)),
            Text(safe_text(endpoint.served_name)),
            _about(baseline),
            f"v{baseline.version}",
            Text(baseline.status.value, "green" if baseline.status is BaselineStatus.ACTIVE else "dim"),
            baseline.created_at.strftime("%Y-%m-%d %H:%M"),
            f"{baseline.runs[0].run_id} + {joined}",
            Text(safe_text(baseline.set_by)),
            Text(safe_text(baseline.note or "")),
        )
    return table


def _item(endpoint: EndpointRecord, baseline: BaselineRecord) -> dict[str, Any]:
    return {
        "baseline_id": baseline.id,
        "endpoint_id": endpoint.id,
        "provider": endpoint.provider,
        "model": endpoint.model,
        "served_name": endpoint.served_name,
        "probe": baseline.probe.value,
        "suite": baseline.suite,
        "version": baseline.version,
        "status": baseline.status.value,
        "set_by": baseline.set_by,
        "note": baseline.note,
        "created_at": baseline.created_at.isoformat(),
        "closed_at": None if baseline.closed_at is None else baseline.closed_at.isoformat(),
        "runs": [{"run_id": member.run_id, "role": member.role.value} for member in baseline.runs],
    }

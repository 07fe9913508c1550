"""`monitor alerts`: what is wrong now and was before, and what people decided about it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from monitor import clock
from monitor.cli.access_store import this_person
from monitor.cli.output import print_json, print_message, print_table, stdout_console
from monitor.cli.recorded import opened_store
from monitor.cli.rule_test import try_rule
from monitor.errors import NotFoundError
from monitor.render.alerts import (
    ALERT_SCHEMA,
    LIST_SCHEMA,
    alert_item,
    alert_table,
    event_item,
    event_table,
    iso,
    minute,
    notice,
    what,
)
from monitor.store.alerts import AlertFilter, AlertRecord, Alerts
from monitor.store.keyset import Window
from monitor.store.vocabulary import AlertState

MOST_ALERTS = 10_000

app = typer.Typer(no_args_is_help=True, help="List, show and decide about alerts; try a rule on the past.")
app.command("test-rule")(try_rule)

Alert = Annotated[str, typer.Argument(help="The alert's id, alr_….")]
Note = Annotated[str, typer.Option(help="Why: it is kept with the alert.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


@app.command("list")
def list_alerts(
    provider: Annotated[str | None, typer.Option(help="Only this provider's.")] = None,
    model: Annotated[str | None, typer.Option(help="Only this model's.")] = None,
    state: Annotated[AlertState | None, typer.Option(help="Only those in this state.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Also those that are resolved.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=MOST_ALERTS, help="At most so many, the latest ones.")] = 50,
    as_json: AsJson = False,
) -> None:
    """List the alerts that are open, the latest first, and what holds their notices back."""
    which = AlertFilter(open=None if everything or state else True, state=state, provider=provider, model=model)
    with opened_store() as store:
        alerts = Alerts(store.sessions) if store is not None else None
        found = alerts.list(Window(limit), which).items if alerts is not None else ()
        holds = alerts.holds(found, at=clock.now()) if alerts is not None else {}
    if as_json:
        print_json({"schema": LIST_SCHEMA, "items": [alert_item(alert, holds.get(alert.id)) for alert in found]})
    elif found:
        stdout_console().print(alert_table(found, holds))
    else:
        print_message("No alerts." if everything or state else "No open alerts.")


@app.command()
def show(alert: Alert, as_json: AsJson = False) -> None:
    """Show one alert: what was found, and every step it took."""
    with _alerts(alert) as alerts:
        found = alerts.show(alert)
        events = alerts.events(alert)
        holds = alerts.holds([found], at=clock.now())[alert]
    if as_json:
        item = alert_item(found, holds)
        print_json({"schema": ALERT_SCHEMA, "alert": item, "events": [event_item(event) for event in events]})
        return
    print_table(("alert", found.id), [(name, text) for name, text in _facts(found) if text])
    if held := notice(found, holds):
        print_message(f"Notices are held back: {held}.")
    stdout_console().print(event_table(events))


@app.command()
def ack(alert: Alert, note: Note = "") -> None:
    """Say that somebody looks after an alert: it is not repeated, until it gets worse."""
    with _alerts(alert) as alerts:
        _told(alerts.ack(alert, actor=this_person(), note=note, at=clock.now()))


@app.command()
def unack(alert: Alert) -> None:
    """Take an acknowledgement back: the alert is repeated again."""
    with _alerts(alert) as alerts:
        _told(alerts.unack(alert, actor=this_person(), at=clock.now()))


@app.command()
def resolve(alert: Alert, note: Note = "") -> None:
    """End an alert by hand. Its next proven drift is a new alert; `monitor baseline accept` accepts the change."""
    with _alerts(alert) as alerts:
        _told(alerts.resolve(alert, actor=this_person(), note=note, at=clock.now()))


@contextmanager
def _alerts(alert: str) -> Iterator[Alerts]:
    with opened_store() as store:
        if store is None:
            raise NotFoundError(f"There is no alert {alert}.", remedy="`monitor alerts list --all` shows the ids.")
        yield Alerts(store.sessions)


def _told(alert: AlertRecord) -> None:
    acked = f", acked by {alert.acked_by}" if alert.acked_by else ""
    typer.echo(f"{alert.id} {what(alert)}: {alert.state.value}{acked}")


def _facts(alert: AlertRecord) -> list[tuple[str, str]]:
    found = alert.finding
    causes = ", ".join(f"{cause['name']} {cause['weight']:.0%}" for cause in found.get("causes") or ())
    return [
        ("what", what(alert)),
        ("state", alert.state.value.upper() + (", flapping" if alert.flapping else "")),
        ("severity", alert.severity.value),
        ("rule", alert.rule),
        ("endpoint", alert.endpoint_id or ""),
        ("opened (UTC)", minute(alert.opened_at)),
        ("fired (UTC)", minute(alert.fired_at)),
        ("resolved (UTC)", minute(alert.resolved_at)),
        ("changed between", " and ".join(filter(None, (found.get("since"), found.get("until"))))),
        ("looks like", causes),
        ("checks", ", ".join(found.get("checks") or ())),
        ("acked", f"{alert.acked_by} at {iso(alert.acked_at)}" if alert.acked_by else ""),
        ("note", alert.note or ""),
    ]

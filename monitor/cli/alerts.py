"""`monitor alerts`: what is wrong now and was before, and what people decided about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Annotated

import typer

from monitor import clock
from monitor.cli.access_store import this_person
from monitor.cli.output import print_json, print_message, print_table, stdout_console
from monitor.cli.recorded import opened_store
from monitor.cli.rule_test import try_rule
from monitor.config import Config
from monitor.errors import ConfigError, NotFoundError, UsageError
from monitor.render.alerts import (
    ALERT_SCHEMA,
    LIST_SCHEMA,
    Heard,
    alert_item,
    alert_table,
    event_item,
    event_table,
    held_words,
    iso,
    minute,
    told_words,
    what,
)
from monitor.store import Store
from monitor.store.alerts import AlertFilter, AlertRecord, Alerts
from monitor.store.config import ConfigObjects
from monitor.store.deliveries import Deliveries
from monitor.store.keyset import Window
from monitor.store.vocabulary import AlertState
from monitor.worker.our_faults import entries_by_id, our_faults

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
    now = clock.now()
    with opened_store() as store:
        found = Alerts(store.sessions).list(Window(limit), which).items if store is not None else ()
        heard = _heard(store, found, now) if store is not None else {}
    if as_json:
        print_json({"schema": LIST_SCHEMA, "items": [alert_item(alert, heard[alert.id]) for alert in found]})
    elif found:
        stdout_console().print(alert_table(found, heard, now))
    else:
        print_message("No alerts." if everything or state else "No open alerts.")


@app.command()
def show(alert: Alert, as_json: AsJson = False) -> None:
    """Show one alert: what was found, and every step it took."""
    now = clock.now()
    with _store_of(alert) as store:
        found = Alerts(store.sessions).show(alert)
        events = Alerts(store.sessions).events(alert)
        heard = _heard(store, [found], now)[alert]
    if as_json:
        item = alert_item(found, heard)
        print_json({"schema": ALERT_SCHEMA, "alert": item, "events": [event_item(event) for event in events]})
        return
    facts = [*_facts(found), ("told", told_words(heard, now))]
    print_table(("alert", found.id), [(name, text) for name, text in facts if text])
    if held := held_words(found, heard.holds):
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


@app.command()
def comment(alert: Alert, text: Annotated[str, typer.Argument(help="What there is to say.")]) -> None:
    """Say something about an alert: it is kept among its steps, and changes nothing."""
    if not text.strip():
        raise UsageError("The comment is empty.", remedy="Say something.")
    with _alerts(alert) as alerts:
        _told(alerts.comment(alert, actor=this_person(), text=text.strip(), at=clock.now()))


@contextmanager
def _store_of(alert: str) -> Iterator[Store]:
    with opened_store() as store:
        if store is None:
            raise NotFoundError(f"There is no alert {alert}.", remedy="`monitor alerts list --all` shows the ids.")
        yield store


@contextmanager
def _alerts(alert: str) -> Iterator[Alerts]:
    with _store_of(alert) as store:
        yield Alerts(store.sessions)


def _heard(store: Store, alerts: Sequence[AlertRecord], now: datetime) -> dict[str, Heard]:
    config = _config(store)
    windows = () if config is None else config.file.maintenance
    entries = () if config is None else config.all_endpoints()
    faults = our_faults(store, entries_by_id(store, entries), now)
    holds = Alerts(store.sessions).holds(alerts, at=now, windows=windows, conditions=faults)
    told = Deliveries(store.sessions).told([alert.id for alert in alerts])
    return {alert.id: Heard(holds[alert.id], told[alert.id]) for alert in alerts}


def _config(store: Store) -> Config | None:
    try:
        return ConfigObjects(store.sessions).config()
    except ConfigError:
        return None


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

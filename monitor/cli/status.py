"""`monitor status`: does the service run, and does it keep up?"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Annotated, Any

import typer

from monitor import clock
from monitor.cli.output import print_json, print_message
from monitor.cli.recorded import opened_store
from monitor.datadir import DataDir
from monitor.redaction import safe_text
from monitor.service.lock import running
from monitor.service.reach import seconds_to_answer
from monitor.settings import Settings, load_settings
from monitor.store import Beat, Beats, Store
from monitor.store.database import Database
from monitor.store.figures import Figures, Standing
from monitor.store.upkeep import Upkeep

SCHEMA = "monitor.status/1"

# A process that was not seen for longer is told of no more.
_REMEMBERED = timedelta(hours=1)


def status(as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False) -> None:
    """Show whether the service runs, and what waits for it."""
    settings = load_settings()
    with opened_store() as store:
        document = {"schema": SCHEMA, "web": _web(settings), **_recorded(settings, store, clock.now())}
    if as_json:
        print_json(document)
        return
    for line in _lines(document):
        typer.echo(safe_text(line))
    if document["web"] is None:
        print_message(f"No `monitor up` runs on {settings.data_dir}.")


def _web(settings: Settings) -> dict[str, Any] | None:
    service = running(DataDir(settings.data_dir))
    if service is None or service.url is None:
        return None
    seconds = seconds_to_answer(service.url)
    return {
        "url": service.url,
        "pid": service.pid,
        "ok": seconds is not None,
        "ms": None if seconds is None else round(seconds * 1000, 1),
    }


def _recorded(settings: Settings, store: Store | None, at: datetime) -> dict[str, Any]:
    if store is None:
        return {"database": None}
    figures = Standing(store.sessions).figures(at)
    beats = [beat for beat in Beats(store.sessions).all() if at - beat.seen_at < _REMEMBERED]
    return {
        "database": {
            "kind": "sqlite" if Database.named(settings.database).path else "postgresql",
            "bytes": figures.database_bytes,
            "schema": Upkeep(store.sessions).revision(),
        },
        "workers": [_worker(beat, at) for beat in beats],
        "queues": {name: _waiting(figures, name, at) for name in figures.queues},
        "deliveries_pending": figures.deliveries_pending,
        "alerts": {f"{state.value}/{severity.value}": count for (state, severity), count in figures.alerts.items()},
    }


def _worker(beat: Beat, at: datetime) -> dict[str, Any]:
    return {
        "name": beat.name,
        "version": beat.version,
        "progress_seconds": round((at - beat.progress_at).total_seconds(), 1),
    }


def _waiting(figures: Figures, queue: str, at: datetime) -> dict[str, Any]:
    waiting = figures.queues[queue]
    oldest = None if waiting.oldest is None else round((at - waiting.oldest).total_seconds(), 1)
    return {"count": waiting.count, "oldest_seconds": oldest}


def _lines(document: dict[str, Any]) -> Iterator[str]:
    web, database = document["web"], document["database"]
    if web is not None:
        yield f"web       {'ok ' + str(web['ms']) + ' ms' if web['ok'] else 'does not answer'}  {web['url']}"
    if database is None:
        yield "database  none yet"
        return
    yield f"database  {database['kind']} {database['bytes'] / 1e6:.1f} MB  schema {database['schema']}"
    for worker in document["workers"]:
        yield f"worker    {worker['name']}  progress {worker['progress_seconds']:.0f} s ago"
    for name, waiting in document["queues"].items():
        oldest = "" if waiting["oldest_seconds"] is None else f" (oldest {waiting['oldest_seconds']:.0f} s)"
        yield f"queue     {name} {waiting['count']}{oldest}"
    yield f"messages  {document['deliveries_pending']} pending"
    for name, count in document["alerts"].items():
        yield f"alerts    {name} {count}"

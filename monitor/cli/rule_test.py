"""`monitor alerts test-rule`: what a rule would have sent, had it been there for the last days."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any

import typer
from rich.text import Text

from monitor import clock
from monitor.alerts.events import Event
from monitor.alerts.replay import Episode, replay
from monitor.alerts.rule import AlertRule, rules_for
from monitor.alerts.signals import Failed, Verdicted
from monitor.cli.output import print_json, print_message, stdout_console
from monitor.cli.recorded import opened_store
from monitor.cli.since import parse_since
from monitor.config import Config, load_config, suggestion
from monitor.errors import ConfigError, UsageError
from monitor.redaction import safe_text
from monitor.render.alerts import iso, minute, plain_table
from monitor.settings import load_settings
from monitor.store import EndpointRecord
from monitor.store.alert_history import past_signals
from monitor.worker.configured import KnownEndpoint

SCHEMA = "monitor.rule_test/1"
# What a schedule is where nothing says otherwise.
_EVERY = timedelta(minutes=15)


@dataclass(frozen=True, slots=True)
class _Tested:
    """What there would have been at one endpoint."""

    endpoint: EndpointRecord
    checks: int
    episodes: tuple[Episode, ...]

    @property
    def name(self) -> str:
        return f"{self.endpoint.provider}/{self.endpoint.model}"

    @property
    def notices(self) -> list[tuple[Episode, Event]]:
        return [(episode, event) for episode in self.episodes for event in episode.notices]


def try_rule(
    rule: Annotated[str, typer.Argument(help="A rule of the configuration file, or drift, availability, no-data.")],
    since: Annotated[str, typer.Option("--replay", help="So far back: 12h, 30d, 4w, or from a date on.")] = "30d",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Run a rule over the stored findings and tell what it would have sent. Nothing is sent or changed."""
    now = clock.now()
    start = parse_since(since, now, "--replay")
    tested = list(_tested(rule, start, now))
    if as_json:
        print_json(_document(rule, start, now, tested))
        return
    if any(one.notices for one in tested):
        table = plain_table("time (UTC)", "endpoint", "metric", "notice", "why")
        for when, name, metric, event in sorted(_lines(tested), key=lambda line: line[0]):
            table.add_row(minute(when), Text(safe_text(name)), metric or "–", event.kind.value, Text(event.reason))
        stdout_console().print(table)
    print_message(_sum(rule, since, tested))


def _tested(name: str, start: datetime, now: datetime) -> Iterator[_Tested]:
    config = _config()
    _rule_named(name, config, {}, _EVERY)
    with opened_store() as store:
        if store is None:
            return
        endpoints = {endpoint.id: endpoint for endpoint in store.endpoints()}
        with store.sessions.read() as session:
            past = past_signals(session, start)
    for endpoint_id, signals in past.items():
        endpoint = endpoints[endpoint_id]
        labels = _labels(endpoint)
        rule = _rule_named(name, config, labels, _interval(config, endpoint, now))
        yield _Tested(endpoint, _checks(signals), tuple(replay(signals, rule, labels, now)))


def _config() -> Config | None:
    """None where there is no file: the built-in rules need none."""
    try:
        return load_config(load_settings().config)
    except ConfigError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return None
        raise


def _rule_named(name: str, config: Config | None, labels: Mapping[str, str], every: timedelta) -> AlertRule:
    rules = rules_for(config.file.rules if config is not None else (), labels, every)
    for rule in rules:
        if rule.id == name:
            return rule
    known = [rule.id for rule in rules]
    raise UsageError(
        f"There is no rule '{name}' that is on; {suggestion(name, known)}", remedy=f"There are {', '.join(known)}."
    )


def _interval(config: Config | None, endpoint: EndpointRecord, now: datetime) -> timedelta:
    """Of the schedule that the configuration gives the endpoint."""
    configured = config.all_endpoints() if config is not None else []
    for found in configured:
        if config is not None and (found.provider, found.model) == (endpoint.provider, endpoint.model):
            return KnownEndpoint(endpoint, found, config.schedule_of(found)).every(now)
    return _EVERY


def _labels(endpoint: EndpointRecord) -> dict[str, str]:
    own = {name: str(value) for name, value in endpoint.labels.items()}
    return {**own, "provider": endpoint.provider, "model": endpoint.model}


def _checks(signals: list[Verdicted | Failed]) -> int:
    return len({signal.check_id for signal in signals})


def _lines(tested: list[_Tested]) -> Iterator[tuple[datetime, str, str, Event]]:
    for one in tested:
        for episode, event in one.notices:
            yield event.at, one.name, episode.metric, event


def _sum(rule: str, since: str, tested: list[_Tested]) -> str:
    episodes = [episode for one in tested for episode in one.episodes]
    fired = sum(episode.fired for episode in episodes)
    notices = sum(len(episode.notices) for episode in episodes)
    checks = sum(one.checks for one in tested)
    return (
        f"Over {since}, {checks} checks of {len(tested)} endpoints: rule {rule} would have made {fired} alerts "
        f"and {notices} notices; {len(episodes) - fired} more began and did not fire."
    )


def _document(rule: str, start: datetime, now: datetime, tested: list[_Tested]) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "rule": rule,
        "from": iso(start),
        "until": iso(now),
        "endpoints": [
            {
                "endpoint_id": one.endpoint.id,
                "provider": one.endpoint.provider,
                "model": one.endpoint.model,
                "checks": one.checks,
                "alerts": [_alert(episode) for episode in one.episodes],
            }
            for one in tested
        ],
    }


def _alert(episode: Episode) -> dict[str, Any]:
    return {
        "metric": episode.metric,
        "opened_at": iso(episode.events[0].at),
        "fired": episode.fired,
        "state": episode.events[-1].to_state.value,
        "notices": [
            {"kind": event.kind.value, "at": iso(event.at), "reason": event.reason} for event in episode.notices
        ],
    }

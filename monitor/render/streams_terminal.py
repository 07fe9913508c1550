"""How an endpoint's streams stand, as a person reads it in a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.table import Table
from rich.text import Text

from monitor.drift.evidence import StreamKey
from monitor.drift.stream_standing import Phase
from monitor.redaction import safe_text
from monitor.render.alerts import minute, plain_table
from monitor.render.streams import short, stream_name, worth_text
from monitor.render.terminal import STYLES
from monitor.render.wording import verdict_word
from monitor.streams_document import OnsetStatement, StreamsDocument, StreamStatement

_MOST_EVENTS = 5


def print_streams(console: Console, document: StreamsDocument) -> None:
    name = f"{document.provider} / {document.model} (as {document.served_name})"
    console.print(Text(safe_text(name), "bold"))
    if document.verdict is not None:
        console.print(Text(safe_text(headline(document)), STYLES[document.verdict]))
    for line in _facts(document):
        console.print(Text(safe_text(line)))
    if document.streams:
        console.print(_table(document))
    for line in _came(document):
        console.print(Text(safe_text(line)))
    for line in document.coming:
        console.print(Text(safe_text(f"next: {line}"), "dim"))


def headline(document: StreamsDocument) -> str:
    """`DRIFT: E 1,199, level drift, looked at 2026-11-29 23:00 UTC`."""
    if document.verdict is None or document.worth is None or document.level is None:
        return "no epoch is open"
    looked = "not looked at yet" if document.looked_at is None else f"looked at {minute(document.looked_at)} UTC"
    said = f"{verdict_word(document.verdict)}: E {worth_text(document.worth)}, level {document.level.value}, {looked}"
    return said if document.held is None else f"{said}; held back: {document.held}"


def _facts(document: StreamsDocument) -> Iterator[str]:
    epoch, promise = document.epoch, document.promise
    if epoch is None or promise is None:
        return
    yield (
        f"epoch {epoch.number}, {minute(epoch.opened_at)} to {minute(epoch.ends_at)} UTC, "
        f"by stack {short(epoch.stack)}: {sum(one.rounds for one in document.streams)} rounds"
    )
    yield (
        f"promised: while mean scores keep to the levels below, E reaches {promise.drift_at:,.0f} within the "
        f"{promise.epoch_days:.3g} days with a chance of at most {promise.alpha:.1%}, however often one looks"
    )


def _table(document: StreamsDocument) -> Table:
    table = plain_table("stream", "rounds", "E", "weight", "verdict", "standing", "lawful (hour / days, δ)", "what")
    for one in document.streams:
        table.add_row(
            Text(safe_text(name_of(one))),
            str(one.rounds),
            worth_text(one.worth),
            f"{one.weight:.0%}",
            Text(verdict_word(one.verdict), STYLES[one.verdict]),
            standing_words(one),
            levels_words(one),
            Text(safe_text(_last_reason(one))),
        )
    return table


def name_of(one: StreamStatement) -> str:
    name = stream_name(StreamKey("", one.tier, one.probe_set))
    return f"{name} (escalation {one.escalation})" if one.escalation else name


def standing_words(one: StreamStatement) -> str:
    """`calibrating since 2026-11-29 12:00`, `betting`."""
    if one.phase is Phase.CALIBRATING and one.calibrating_since is not None:
        return f"calibrating since {minute(one.calibrating_since)}"
    return one.phase.value


def levels_words(one: StreamStatement) -> str:
    """`0.312 / 0.125, δ 0.020`; where a null needs none, which it is."""
    if one.levels is not None:
        return f"{one.levels.hourly:.3f} / {one.levels.daily:.3f}, δ {one.levels.delta:.3f}"
    return "–" if one.null is None or one.phase is Phase.CALIBRATING else f"none needed ({one.null.value})"


def onset_words(onset: OnsetStatement) -> str:
    after = "from the beginning of the epoch" if onset.after is None else f"after {minute(onset.after)}"
    return (
        f"began {after}, not later than {minute(onset.until)}, likeliest {minute(onset.first)}; "
        f"detected {minute(onset.detected)} UTC"
    )


def _last_reason(one: StreamStatement) -> str:
    if one.reason:
        return one.reason
    return one.last.reasons[-1] if one.last is not None and one.last.reasons else ""


def _came(document: StreamsDocument) -> Iterator[str]:
    if document.onset is not None:
        yield f"the change {onset_words(document.onset)}"
    for one in document.streams:
        if one.onset is not None:
            yield f"  {name_of(one)} {onset_words(one.onset)}"
    events = document.events[-_MOST_EVENTS:]
    if events:
        told = ", ".join(f"{one.event} {minute(one.at)} (E {worth_text(one.worth)})" for one in events)
        yield f"what came of looks: {told}"

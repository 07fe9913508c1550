"""Deliveries as a table and as a JSON document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from rich.table import Table
from rich.text import Text

from monitor.redaction import safe_text
from monitor.render.alerts import minute, plain_table
from monitor.store.delivery_records import AttemptRecord, ChannelState, DeliveryEntry
from monitor.store.vocabulary import DeliveryStatus

SCHEMA = "monitor.deliveries/1"

_STYLES = {DeliveryStatus.FAILED: "bold red", DeliveryStatus.PENDING: "yellow", DeliveryStatus.CANCELLED: "dim"}


def delivery_table(entries: Sequence[DeliveryEntry]) -> Table:
    """One line a delivery."""
    table = plain_table("id", "channel", "type", "made (UTC)", "status", "tries", "next try", "why")
    for entry in entries:
        table.add_row(
            entry.id,
            safe_text(entry.channel),
            entry.type,
            minute(entry.created_at),
            Text(entry.status.value, _STYLES.get(entry.status, "")),
            str(entry.attempts),
            "–" if entry.status.finished else minute(entry.next_attempt_at),
            Text(safe_text(entry.error or "")),
        )
    return table


def channel_line(state: ChannelState) -> str | None:
    """What is wrong with a channel; None where nothing is."""
    if state.disabled_at is not None:
        return f"{state.channel} is switched off since {minute(state.disabled_at)} UTC: {state.reason}"
    if state.failures:
        return f"{state.channel}: {state.failures} tries in a row failed; the last one: {state.reason}"
    return None


def deliveries_document(
    entries: Sequence[DeliveryEntry],
    attempts: Mapping[str, Sequence[AttemptRecord]],
    channels: Sequence[ChannelState],
) -> dict[str, Any]:
    items = [{**_json(entry), "tries": [_json(attempt) for attempt in attempts[entry.id]]} for entry in entries]
    return {"schema": SCHEMA, "items": items, "channels": [_json(state) for state in channels]}


def _json(record: DeliveryEntry | AttemptRecord | ChannelState) -> dict[str, Any]:
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in asdict(record).items()}

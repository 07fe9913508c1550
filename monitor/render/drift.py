"""Epochs of streams computed anew, as tables, sentences and JSON documents."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.table import Table
from rich.text import Text

from monitor.drift.decision import stream_verdict
from monitor.drift.endpoint_streams import EndpointStreams
from monitor.drift.evidence import StreamKey
from monitor.drift.first_baseline import AgainstFirst
from monitor.drift.streams import StreamState
from monitor.redaction import safe_text
from monitor.render.alerts import iso, minute, plain_table
from monitor.store import EndpointRecord
from monitor.store.stream_codec import encode_state
from monitor.store.stream_records import Replayed, ReplayedRun

REPLAY_SCHEMA = "monitor.drift_replay/1"


@dataclass(frozen=True, slots=True)
class ReplayedEpoch:
    """An epoch computed anew, and whose it is."""

    endpoint: EndpointRecord
    replayed: Replayed

    @property
    def name(self) -> str:
        return f"{self.endpoint.provider} / {self.endpoint.model} (as {self.endpoint.served_name})"

    @property
    def outcome(self) -> str:
        if self.replayed.difference is not None:
            return "differs"
        return "bit for bit equal" if self.replayed.exact else "values equal"


def epochs_table(epochs: Sequence[ReplayedEpoch]) -> Table:
    """One line an epoch."""
    table = plain_table(
        "model", "served as", "epoch", "since (UTC)", "until (UTC)", "evidence", "looks", "E", "level", "replay"
    )
    for one in epochs:
        found = one.replayed
        table.add_row(
            Text(safe_text(one.endpoint.model)),
            Text(safe_text(one.endpoint.served_name)),
            str(found.epoch.number),
            minute(found.epoch.opened_at),
            minute(found.epoch.closed_at),
            str(found.evidence),
            str(found.looks),
            _worth(found.final.worth),
            _level(found.final),
            one.outcome,
        )
    return table


def run_table(run: ReplayedRun) -> Table:
    """One line a stream that the run's evidence was added to, and one for the endpoint."""
    table = plain_table("stream", "E before", "E after", "what")
    for name, before, after in _changed(run):
        table.add_row(Text(safe_text(name)), _worth(before.value), _worth(after.value), Text(safe_text(_says(after))))
    levels = f"{_level(run.before)} → {_level(run.after)}"
    what = "; ".join([levels, *(event.value for event in run.events)])
    table.add_row("endpoint", _worth(run.before.worth), _worth(run.after.worth), what)
    return table


def run_head(epoch: ReplayedEpoch, run: ReplayedRun) -> str:
    found = epoch.replayed.epoch
    pieces = ", ".join(str(sequence) for sequence in run.sequences)
    return safe_text(
        f"{epoch.name}\n{run.run_id}: evidence {pieces} of epoch {found.number}, since {minute(found.opened_at)} UTC, "
        f"stack {found.stack}"
    )


def against_lines(epochs: Sequence[ReplayedEpoch]) -> list[str]:
    """A line for each new baseline that was held against the first one for ever."""
    return [
        safe_text(f"{one.endpoint.model}, epoch {one.replayed.epoch.number}, {_name(key)}: {found}")
        for one in epochs
        for key, found in sorted(one.replayed.epoch.against_first.items())
    ]


def sum_of(epoch: ReplayedEpoch) -> str:
    found = epoch.replayed
    return f"{found.evidence} pieces of evidence and {found.looks} looks computed anew: {epoch.outcome}."


def replay_document(epochs: Sequence[ReplayedEpoch]) -> dict[str, Any]:
    return {"schema": REPLAY_SCHEMA, "items": [_item(one) for one in epochs]}


def _item(one: ReplayedEpoch) -> dict[str, Any]:
    found = one.replayed
    return {
        "endpoint_id": one.endpoint.id,
        "provider": one.endpoint.provider,
        "model": one.endpoint.model,
        "served_name": one.endpoint.served_name,
        "epoch": found.epoch.number,
        "stack": found.epoch.stack,
        "opened_at": iso(found.epoch.opened_at),
        "closed_at": iso(found.epoch.closed_at),
        "why": found.epoch.why,
        "note": found.epoch.note,
        "against_first": [_against(key, against) for key, against in sorted(found.epoch.against_first.items())],
        "evidence": found.evidence,
        "looks": found.looks,
        "replay": one.outcome,
        "final": _streams(found.final),
        "run": None if found.run is None else _run(found.run),
    }


def _against(key: StreamKey, found: AgainstFirst) -> dict[str, Any]:
    return {
        "tier": key.tier.value,
        "probe_set": key.probe_set,
        "told": found.told,
        "alpha": found.alpha,
        "said": str(found),
        **asdict(found),
    }


def _run(run: ReplayedRun) -> dict[str, Any]:
    return {
        "run_id": run.run_id,
        "sequences": list(run.sequences),
        "before": _streams(run.before),
        "after": _streams(run.after),
        "states": [
            {"stream": name, "before": json.loads(encode_state(before)), "after": json.loads(encode_state(after))}
            for name, before, after in _changed(run)
        ],
        "events": [event.value for event in run.events],
    }


def _streams(streams: EndpointStreams) -> dict[str, Any]:
    return {
        "level": streams.state.level.name.lower(),
        "worth": streams.worth,
        "held": streams.state.held,
        "streams": [
            {
                "tier": state.key.tier.value,
                "probe_set": state.key.probe_set,
                "value": state.value,
                "calibrated": state.calibrated,
                "verdict": stream_verdict(state).value,
                "why_not": state.why_not,
                "causes": [{"name": cause.name, "weight": cause.weight} for cause in state.causes],
            }
            for state in streams.streams.values()
        ],
    }


def _changed(run: ReplayedRun) -> Iterator[tuple[str, StreamState, StreamState]]:
    """The streams that the run's evidence was added to, before and after."""
    for key, before in run.before.streams.items():
        if run.after.streams[key] != before:
            yield _name(key), before, run.after.streams[key]
    for key, before in run.before.escalation.streams.items():
        after = run.after.escalation.streams.get(key, before)
        if after != before:
            yield f"{_name(key)} (escalation {run.before.escalation.number})", before, after


def _name(key: StreamKey) -> str:
    return f"{key.tier.value} {key.probe_set}"


def _says(state: StreamState) -> str:
    why_not = "" if state.why_not is None else f": {state.why_not}"
    return f"{stream_verdict(state).value}{why_not}"


def _level(streams: EndpointStreams) -> str:
    held = "" if streams.state.held is None else f" (held: {streams.state.held})"
    return safe_text(streams.state.level.name.lower() + held)


def _worth(value: float) -> str:
    return f"{value:.3g}" if value < 1000.0 else f"{value:.0f}"

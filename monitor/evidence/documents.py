"""The documents of a bundle, in JSON values: the run, what it was found to be, and one sample."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from importlib.metadata import version
from typing import Any

from monitor.evidence.choice import Choice
from monitor.evidence.classes import FailingClass
from monitor.evidence.reading import last_completion, path_of
from monitor.evidence.reproduction import Reproduction
from monitor.evidence.subject import Subject
from monitor.store import Answer, Exchange
from monitor.store.browse_records import SampleRecord
from probes.replay import parsed

_FACTS = (
    "sent_at",
    "attempts",
    "first_attempt_ok",
    "error_code",
    "http_status",
    "finish_reason",
    "quirks",
    "ttft_ms",
    "total_ms",
    "tokens_in",
    "tokens_out",
    "tokens_cached",
    "provider_request_id",
    "response_sha256",
)
_OF_PRIVATE_ANSWERS = ("http_status", "bytes", "kept_bytes", "sent_at", "seconds", "error")


def to_json(document: Mapping[str, Any]) -> bytes:
    """The same bytes for the same values; in ASCII, which half a surrogate pair cannot spoil."""
    return json.dumps(document, indent=2, sort_keys=True, allow_nan=False, default=_plain).encode("ascii") + b"\n"


def run_document(subject: Subject) -> dict[str, Any]:
    """`configuration_unchanged`: whether the endpoint is configured now as it was then; None where it is no more."""
    endpoint, config = subject.endpoint, subject.config
    return {
        "run": asdict(subject.run),
        "endpoint": {
            "id": endpoint.id,
            "provider": endpoint.provider,
            "base_url": endpoint.base_url,
            "model": endpoint.model,
            "served_name": endpoint.served_name,
            "routing": dict(endpoint.routing),
        },
        "configuration_unchanged": None if config is None else config.digest == subject.run.config_digest,
        "made_by": f"endpoint-monitor {version('endpoint-monitor')}",
    }


def stats_document(
    subject: Subject, choice: Choice, places: Mapping[int, str], left_out: Sequence[str]
) -> dict[str, Any]:
    """`places` are the folders of the samples that are in the bundle."""
    return {
        "evidence": [asdict(found) for found in subject.evidence],
        "samples": choice.samples,
        "failed": choice.failed,
        "classes": [
            {
                "name": chosen.failing.name,
                "words": chosen.failing.words,
                "samples": chosen.count,
                "with_bodies": chosen.kept,
                "shown": [places[sample_id] for sample_id in chosen.ids],
            }
            for chosen in choice.classes
        ],
        "left_out": list(left_out),
    }


def sample_document(
    facts: SampleRecord, failing: Sequence[FailingClass], exchange: Exchange, asked: Reproduction, *, private: bool
) -> dict[str, Any]:
    """Of a private sample, nothing that the item or the answer can stand in."""
    recorded = {name: getattr(facts, name) for name in _FACTS}
    answers = [_answer(place, answer) for place, answer in enumerate(exchange.answers, start=1)]
    if private:
        answers = [{name: answer[name] for name in _OF_PRIVATE_ANSWERS} for answer in answers]
    return {
        "item": facts.item_key,
        "rep": facts.rep,
        "outcome": facts.outcome,
        "wrong": [asdict(found) for found in failing],
        "recorded": recorded,
        "request": {"method": "POST", "url": asked.url, "headers": dict(asked.headers)},
        "answers": answers,
    }


def answer_file(place: int) -> str:
    """The file of the answer to a try; the first is 1."""
    return f"answer-{place}.raw"


def answer_document(exchange: Exchange) -> dict[str, Any] | None:
    """The last answer, normalised; None where there is none that could be."""
    completion = last_completion(exchange)
    if completion is None:
        return None
    return {
        "disposition": completion.disposition.value,
        "quirks": [quirk.value for quirk in completion.quirks],
        "parsed": parsed(completion, path_of(exchange.request)),
    }


def _answer(place: int, answer: Answer) -> dict[str, Any]:
    return {
        "file": answer_file(place) if answer.body else None,
        "http_status": answer.http_status,
        "headers": dict(answer.headers),
        "bytes": answer.size,
        "kept_bytes": len(answer.body),
        "sent_at": answer.sent_at,
        "seconds": answer.seconds,
        "error": answer.error,
        "message": answer.message,
    }


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} is no JSON value")

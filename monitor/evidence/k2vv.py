"""A run as K2-Vendor-Verifier would have written it down: results.jsonl and summary.json, for whoever compares with it.

The fields and what they count are those of MoonshotAI/K2-Vendor-Verifier; the calls are judged by our own validation,
an answer keeps the model's name and the finish_reason that came, and usage is the one of the answer.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO, Any

from monitor.errors import UsageError
from monitor.evidence.reading import last_completion
from monitor.evidence.subject import Subject, scrubber
from monitor.store import Answer, Exchange
from monitor.store.text import foreign_id
from monitor.store.whole_samples import WholeSamples
from monitor.usage import claimed_count
from probes.completion import Completion, ToolCall
from probes.plan import Outcome
from probes.wire.json_value import parse_strict_json

RESULTS = "results.jsonl"
SUMMARY = "summary.json"

_ANSWERED = (Outcome.OK, Outcome.WRONG)
_HIDDEN = {"request": None, "response": None}
_CALLS = "tool_calls"
_TOKENS = ("prompt_tokens", "completion_tokens", "total_tokens")


@dataclass(slots=True)
class Summary:
    """What summary.json counts; `left_out` are samples of whose answers not all is kept, which are in neither file."""

    model: str
    success: int = 0
    failure: int = 0
    finished: Counter[str] = field(default_factory=Counter)
    valid_calls: int = 0
    usage: Counter[str] = field(default_factory=Counter)
    first_at: datetime | None = None
    last_at: datetime | None = None
    left_out: int = 0

    @property
    def samples(self) -> int:
        return self.success + self.failure

    def add(
        self,
        completion: Completion | None,
        finish: str | None,
        *,
        valid: bool,
        began: datetime | None,
        ended: datetime | None,
    ) -> None:
        self.success += completion is not None
        self.failure += completion is None
        self.valid_calls += valid
        if finish is not None:
            self.finished[finish] += 1
        if completion is not None and completion.usage is not None:
            for name in _TOKENS:
                self.usage[name] += claimed_count(getattr(completion.usage, name)) or 0
        self.first_at = min(filter(None, (self.first_at, began)), default=None)
        self.last_at = max(filter(None, (self.last_at, ended)), default=None)

    def to_dict(self) -> dict[str, Any]:
        others = {reason: n for reason, n in sorted(self.finished.items()) if reason not in ("stop", _CALLS)}
        lasted = timedelta() if self.first_at is None or self.last_at is None else self.last_at - self.first_at
        return {
            "model": self.model,
            "success_count": self.success,
            "failure_count": self.failure,
            "finish_stop": self.finished["stop"],
            "finish_tool_calls": self.finished[_CALLS],
            "finish_others": sum(others.values()),
            "finish_others_detail": others,
            "schema_validation_error_count": self.finished[_CALLS] - self.valid_calls,
            "successful_tool_call_count": self.valid_calls,
            "usage": {name: self.usage[name] for name in _TOKENS},
            "eval_started_at": None if self.first_at is None else self.first_at.isoformat(),
            "eval_finished_at": None if self.last_at is None else self.last_at.isoformat(),
            "eval_duration_ms": _milliseconds(lasted),
        }


def write_k2vv(subject: Subject, samples: WholeSamples, folder: Path, *, reveal_private: bool) -> Summary:
    """Write both files into `folder`, one sample at a time; of private items neither request nor response, unless
    they are to be revealed.

    Raises UsageError where one of them is there already, or cannot be written.
    """
    scrub, hidden = scrubber(subject), {} if reveal_private or not subject.private else _HIDDEN
    summary = Summary(subject.endpoint.served_name)
    with _written(folder / SUMMARY) as summary_file, _written(folder / RESULTS) as results:
        for index, sample in enumerate(samples.of_run(subject.run.id), start=1):
            exchange = sample.exchange
            if exchange is None or not all(answer.whole for answer in exchange.answers[-1:]):
                summary.left_out += 1
                continue
            line = _result(index, sample.facts.outcome, exchange, summary)
            results.write(scrub(_json({**line, **hidden})) + b"\n")
        summary_file.write(scrub(_json(summary.to_dict(), indent=4)) + b"\n")
    return summary


def request_hash(request: Mapping[str, Any]) -> str:
    """By which K2VV finds a request again."""
    text = json.dumps(request, sort_keys=True, ensure_ascii=False)
    return hashlib.md5(text.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()


def _result(index: int, outcome: Outcome, exchange: Exchange, summary: Summary) -> dict[str, Any]:
    """One line, which is counted."""
    last = exchange.answers[-1] if exchange.answers else None
    completion = last_completion(exchange) if outcome in _ANSWERED else None
    finish = None if completion is None else foreign_id(completion.finish_reason_raw, 64)
    valid = completion.schema_valid is True if completion is not None and finish == _CALLS else None
    began, ended = _times(exchange)
    summary.add(completion, finish, valid=valid is True, began=began, ended=ended)
    return {
        "data_index": index,
        "request": exchange.request,
        "extra_body": {},
        "response": _response(last, completion),
        "status": "failed" if completion is None else "success",
        "finish_reason": finish,
        "tool_calls_valid": valid,
        "last_run_at": None if ended is None else ended.isoformat(),
        "duration_ms": None if began is None or ended is None else _milliseconds(ended - began),
        "hash": request_hash(exchange.request),
    }


def _times(exchange: Exchange) -> tuple[datetime | None, datetime | None]:
    """From the first try's start to the last one's end."""
    if not exchange.answers:
        return None, None
    last = exchange.answers[-1]
    return exchange.answers[0].sent_at, last.sent_at + timedelta(seconds=last.seconds)


def _response(last: Answer | None, completion: Completion | None) -> dict[str, Any]:
    """The answer's own document; of a stream, what a client makes of it."""
    if last is None or completion is None:
        return {"error": "no answer came" if last is None else last.message or last.error}
    document = _document(last)
    return _assembled(completion) if document is None else document


def _document(last: Answer) -> dict[str, Any] | None:
    try:
        document = parse_strict_json(last.body.decode("utf-8-sig"))
    except ValueError:
        return None
    return document if isinstance(document, dict) else None


def _assembled(completion: Completion) -> dict[str, Any]:
    calls = [_call(call) for call in completion.tool_calls]
    message = {"role": "assistant", "content": completion.content or completion.text or "", _CALLS: calls or None}
    if completion.reasoning is not None:
        message["reasoning_content"] = completion.reasoning
    usage = completion.usage
    return {
        "id": completion.id,
        "object": "chat.completion",
        "created": None,
        "model": completion.model,
        "choices": [{"index": 0, "message": message, "finish_reason": completion.finish_reason_raw}],
        "usage": None if usage is None else {name: getattr(usage, name) for name in _TOKENS},
    }


def _call(call: ToolCall) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments_text}}


def _json(document: Mapping[str, Any], indent: int | None = None) -> bytes:
    return json.dumps(document, ensure_ascii=False, indent=indent).encode("utf-8", "backslashreplace")


def _milliseconds(duration: timedelta) -> int:
    return duration // timedelta(milliseconds=1)


@contextmanager
def _written(target: Path) -> Iterator[IO[bytes]]:
    """A new file, whole or not at all, and its user's alone."""
    if target.exists():
        raise UsageError(f"{target} is there already.", remedy="Name another folder with --out.")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(prefix=".k2vv-", dir=target.parent) as draft:
            yield draft
            draft.flush()
            target.hardlink_to(draft.name)
    except OSError as error:
        raise UsageError(f"{target} cannot be written: {error.strerror}.", remedy="Name another folder.") from error

"""The exchange of a sample as one blob: what was sent and every try's answer, without secrets, compressed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

import zstandard

from monitor.errors import StorageError
from monitor.store.frames import compress, decompress
from monitor.store.text import without_secrets
from probes.completion import Timings
from probes.plan import Attempt, Sample

# The rest of a longer body is left out; `size` still tells its length.
MAX_BODY_BYTES = 1024 * 1024
# JSON may write a character in six bytes, and an exchange has a handful of tries.
_MAX_BLOB_BYTES = 64 * MAX_BODY_BYTES

_TIMINGS = tuple(field.name for field in fields(Timings))
_HEADERS = frozenset(
    {
        "age",
        "cache-control",
        "cf-cache-status",
        "cf-ray",
        "content-encoding",
        "content-length",
        "content-type",
        "date",
        "openai-model",
        "openai-processing-ms",
        "openai-version",
        "request-id",
        "retry-after",
        "retry-after-ms",
        "server",
        "transfer-encoding",
        "via",
        "x-cache",
        "x-request-id",
        "x-should-retry",
    }
)
_HEADER_PREFIXES = ("x-ratelimit-", "x-served-", "x-model", "x-provider")


@dataclass(frozen=True, slots=True)
class Answer:
    """One try. `body` is the answer's first MAX_BODY_BYTES, `size` the length of all of it; `seconds` is how long the
    try took; `other_headers` are the names of those whose values are not kept."""

    http_status: int | None
    headers: Mapping[str, str]
    body: bytes
    size: int
    sent_at: datetime
    seconds: float
    error: str | None
    message: str | None
    other_headers: tuple[str, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether nothing of the body was left out."""
        return self.size <= MAX_BODY_BYTES


@dataclass(frozen=True, slots=True)
class Exchange:
    """`timings` are of the last answer; None where none was read, and for what was stored before they were kept.
    `late_s` and `held_s` are as of a sample."""

    item_key: str
    rep: int
    request: Mapping[str, Any]
    answers: tuple[Answer, ...]
    timings: Timings | None = None
    late_s: float | None = None
    held_s: float | None = None


def pack(sample: Sample) -> bytes:
    """What `unpack` gives back; known secrets are replaced, and of headers that do not tell about the answer only the
    names are kept."""
    exchange = {
        "item_key": sample.item.key,
        "rep": sample.item.rep,
        "request": _redacted(sample.request),
        "answers": [_redacted(_told(attempt)) for attempt in sample.attempts],
        "timings": None if sample.completion is None else _packed_timings(sample.completion.timings),
        "late_s": sample.late_s,
        "held_s": sample.held_s,
    }
    text = json.dumps(exchange, separators=(",", ":"))
    return compress(text.encode("ascii"))


def unpack(blob: bytes) -> Exchange:
    """Raises StorageError for a blob that `pack` did not write."""
    try:
        exchange = json.loads(decompress(blob, at_most=_MAX_BLOB_BYTES))
        answers = tuple(_unpack_answer(answer) for answer in exchange["answers"])
        timings = _unpack_timings(exchange.get("timings"))
        return Exchange(
            item_key=exchange["item_key"],
            rep=exchange["rep"],
            request=exchange["request"],
            answers=answers,
            timings=timings,
            late_s=exchange.get("late_s"),
            held_s=exchange.get("held_s"),
        )
    except (zstandard.ZstdError, ValueError, KeyError, TypeError) as error:
        raise StorageError(
            f"A stored exchange is damaged ({type(error).__name__}).", remedy="Restore the database from a backup."
        ) from error


def _told(attempt: Attempt) -> dict[str, Any]:
    return {
        "http_status": attempt.http_status,
        "headers": {name: value for name, value in attempt.headers.items() if _is_kept(name.lower())},
        "other_headers": [name for name in attempt.headers if not _is_kept(name.lower())],
        "body": _kept_body(attempt.body),
        "size": len(attempt.body),
        "sent_at": attempt.sent_at.isoformat(),
        "seconds": attempt.seconds,
        "error": attempt.error,
        "message": attempt.message,
    }


def _kept_body(body: bytes) -> str:
    """Redacted before it is cut, or half a secret could be left at the end."""
    # Every byte string is one text this way, and text compresses and redacts better than base 64.
    redacted = without_secrets(body.decode("utf-8", errors="surrogateescape"))
    return redacted.encode("utf-8", errors="surrogateescape")[:MAX_BODY_BYTES].decode("utf-8", errors="surrogateescape")


def _is_kept(header: str) -> bool:
    return header in _HEADERS or header.startswith(_HEADER_PREFIXES)


def _unpack_answer(told: Mapping[str, Any]) -> Answer:
    return Answer(
        http_status=told["http_status"],
        headers=told["headers"],
        body=told["body"].encode("utf-8", errors="surrogateescape"),
        size=told["size"],
        sent_at=datetime.fromisoformat(told["sent_at"]),
        seconds=told["seconds"],
        error=told["error"],
        message=told["message"],
        other_headers=tuple(told.get("other_headers", ())),
    )


def _packed_timings(timings: Timings) -> dict[str, Any]:
    # Unlike asdict(), which copies every chunk.
    return {name: getattr(timings, name) for name in _TIMINGS}


def _unpack_timings(told: Mapping[str, Any] | None) -> Timings | None:
    return None if told is None else Timings(**{**told, "chunks": tuple(told["chunks"])})


def _redacted(value: Any) -> Any:
    """`value`, a tree of JSON values, with the secrets of this process replaced in every text. Keys are ours."""
    if isinstance(value, str):
        return without_secrets(value)
    if isinstance(value, Mapping):
        return {name: _redacted(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_redacted(part) for part in value]
    return value

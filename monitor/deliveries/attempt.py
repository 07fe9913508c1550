"""What one try to send came to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tried:
    """`error` says why there was no answer; an answer has `http_status`, also a bad one. Nothing here is secret."""

    http_status: int | None = None
    error: str | None = None
    response: str | None = None
    retry_after: str | None = None
    milliseconds: float = 0.0

    @property
    def ok(self) -> bool:
        return self.http_status is not None and 200 <= self.http_status < 300

    def __str__(self) -> str:
        return self.error or f"answered {self.http_status}"

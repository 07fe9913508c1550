"""What every answer and every chunk of a stream carries around its choices."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from reference_engine.server.clock import unix_seconds

Choice = dict[str, Any]
Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Envelope:
    """`id` is the same in all chunks of an answer and in no other answer."""

    id: str
    created: int
    model: str
    system_fingerprint: str

    @classmethod
    def new(cls, prefix: str, model: str, fingerprint: str) -> Envelope:
        return cls(f"{prefix}-{secrets.token_hex(12)}", unix_seconds(), model, fingerprint)

    def body(self, kind: str, choices: Sequence[Choice], **more: Any) -> Body:
        return {
            "id": self.id,
            "object": kind,
            "created": self.created,
            "model": self.model,
            "choices": list(choices),
            "system_fingerprint": self.system_fingerprint,
            **more,
        }


def usage(prompt_tokens: int, completion_tokens: int) -> dict[str, int]:
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
    }

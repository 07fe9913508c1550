"""What every answer and every chunk of a stream carries around its choices."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from reference_engine.interface import Exactness
from reference_engine.server.clock import unix_seconds
from reference_engine.server.served import ServedModel

Choice = dict[str, Any]
Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Envelope:
    """`id` is the same in all chunks of an answer and in no other answer. The fingerprint and `exactness` say what the
    numbers come from, and how far they can be trusted."""

    id: str
    created: int
    model: str
    system_fingerprint: str
    exactness: Exactness

    @classmethod
    def new(cls, prefix: str, model: str, served: ServedModel) -> Envelope:
        new_id = f"{prefix}-{secrets.token_hex(12)}"
        return cls(new_id, unix_seconds(), model, served.fingerprint, served.exactness)

    def body(self, kind: str, choices: Sequence[Choice], **more: Any) -> Body:
        return {**self.head(kind), "choices": list(choices), **more}

    def head(self, kind: str) -> Body:
        return {
            "id": self.id,
            "object": kind,
            "created": self.created,
            "model": self.model,
            "system_fingerprint": self.system_fingerprint,
            "exactness": self.exactness,
        }


def usage(prompt_tokens: int, completion_tokens: int) -> dict[str, int]:
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
    }

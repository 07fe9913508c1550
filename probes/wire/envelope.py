"""The fields around an answer: its id, its kind, and what is said of the model and the host that made it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from probes.quirks import Quirk
from probes.wire.asked import Asked
from probes.wire.json_value import as_text
from probes.wire.surrogates import paired

_KEPT = ("id", "model", "system_fingerprint", "provider")
_HOST_HEADERS = ("x-inference-provider", "x-openrouter-provider", "x-provider")


class Envelope:
    """Takes the top level of each chunk, or of a whole body; the first value of each field stands."""

    def __init__(self, asked: Asked) -> None:
        self._quirks: set[Quirk] = set()
        self._asked = asked
        self._fields: dict[str, str] = {}

    def take(self, carrier: Mapping[str, Any], *, streamed: bool) -> None:
        for name in _KEPT:
            if as_text(carrier.get(name)):
                self._fields.setdefault(name, paired(carrier[name]))
        if "choices" not in carrier:
            return
        if carrier.get("id") in (None, ""):
            self._quirks.add(Quirk.ENVELOPE_ID_EMPTY)
        if carrier.get("object") not in (None, self._expected_object(streamed=streamed)):
            self._quirks.add(Quirk.ENVELOPE_OBJECT_WRONG)

    def _expected_object(self, *, streamed: bool) -> str:
        if not self._asked.chat:
            return "text_completion"
        return "chat.completion.chunk" if streamed else "chat.completion"

    @property
    def quirks(self) -> set[Quirk]:
        renamed = self.model is not None and self._asked.model not in ("", self.model)
        return self._quirks | ({Quirk.MODEL_ALIAS_RESOLVED} if renamed else set())

    @property
    def id(self) -> str | None:
        return self._fields.get("id")

    @property
    def model(self) -> str | None:
        return self._fields.get("model")

    @property
    def system_fingerprint(self) -> str | None:
        return self._fields.get("system_fingerprint")

    def host(self, headers: Mapping[str, str]) -> str | None:
        """Who served it behind the gateway: the `provider` field, else a header that names it."""
        return self._fields.get("provider") or next(
            (headers[name] for name in _HOST_HEADERS if headers.get(name)), None
        )

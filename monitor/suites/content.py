"""What a suite's version is made of: its hash, its summary, and its items in chunks."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field

import zstandard

from monitor.store.frames import compress, decompress
from probes.evals.formats.own import item_of
from probes.evals.item import EvalItem
from probes.wire.json_value import parse_strict_json

# A chunk ends with the item that brings it to this size.
CHUNK_BYTES = 256 * 1024
# Above any chunk: its last item may be as long as a line of a file, and JSON may write it longer than it came.
_MAX_CHUNK_BYTES = 64 * 1024 * 1024
_CANARY_BYTES = 16


@dataclass(frozen=True, slots=True)
class Head:
    """What is known of a version without its items. `canary` is the suite's own: with it, text that left is found."""

    canary: str
    graders: Mapping[str, int]
    categories: Mapping[str, int]

    def pack(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @classmethod
    def unpack(cls, content: bytes) -> Head:
        """Raises ValueError or TypeError for what `pack` did not make."""
        return cls(**json.loads(content))


@dataclass(slots=True)
class Tally:
    """Adds items up to what a version is called by."""

    items: int = 0
    graders: Counter[str] = field(default_factory=Counter)
    categories: Counter[str] = field(default_factory=Counter)
    _digest: hashlib._Hash = field(default_factory=hashlib.sha256, repr=False)

    def add(self, item: EvalItem) -> None:
        self.items += 1
        self.graders[item.grader.kind.value] += 1
        self.categories[item.category] += 1
        self._digest.update(bytes.fromhex(item.content_sha256))

    def passing(self, items: Iterable[EvalItem]) -> Iterator[EvalItem]:
        """The items, each added as it passes."""
        for item in items:
            self.add(item)
            yield item

    @property
    def sha256(self) -> str:
        """Over every item's canonical content: the same items in the same order, whatever file they came from."""
        return self._digest.hexdigest()

    def head(self, canary: str) -> Head:
        return Head(canary, dict(sorted(self.graders.items())), dict(sorted(self.categories.items())))


def new_canary() -> str:
    return f"eval-canary-{secrets.token_hex(_CANARY_BYTES)}"


def chunks_of(items: Iterable[EvalItem]) -> Iterator[bytes]:
    """Items in a row, one line each, compressed."""
    lines: list[bytes] = []
    size = 0
    for item in items:
        lines.append(item.line.encode())
        size += len(lines[-1])
        if size >= CHUNK_BYTES:
            yield compress(b"\n".join(lines))
            lines, size = [], 0
    if lines:
        yield compress(b"\n".join(lines))


def items_of(chunk: bytes) -> Iterator[EvalItem]:
    """Raises ValueError for what `chunks_of` did not make."""
    try:
        content = decompress(chunk, at_most=_MAX_CHUNK_BYTES)
    except zstandard.ZstdError:
        raise ValueError("no chunk") from None
    for line in content.split(b"\n"):
        yield item_of(parse_strict_json(line.decode()))

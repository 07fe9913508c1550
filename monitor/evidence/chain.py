"""The manifest of a bundle: every file's digest, each bound to all before it, and one root that stands for them all."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

SCHEMA = "monitor.evidence/1"
MANIFEST = "manifest.json"


@dataclass(frozen=True, slots=True, order=True)
class FileDigest:
    path: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Link:
    """A file in the chain; `chain` is the digest of the link before it and of this file's path, size and digest."""

    path: str
    size: int
    sha256: str
    chain: str

    @property
    def digest(self) -> FileDigest:
        return FileDigest(self.path, self.size, self.sha256)


@dataclass(frozen=True, slots=True)
class Manifest:
    """`files` by path; `root` is the last link, or that of no file."""

    files: tuple[Link, ...]
    root: str

    @classmethod
    def of(cls, files: Iterable[FileDigest]) -> Manifest:
        root, links = _sha256(SCHEMA), []
        for file in sorted(files):
            # No path holds a line break, so that no two files give the same text.
            root = _sha256(f"{root}\n{file.path}\n{file.size}\n{file.sha256}")
            links.append(Link(file.path, file.size, file.sha256, root))
        return cls(tuple(links), root)

    def to_json(self) -> bytes:
        files = [asdict(link) for link in self.files]
        return json.dumps({"schema": SCHEMA, "files": files, "root": self.root}, indent=2).encode()

    @classmethod
    def from_json(cls, text: bytes) -> Manifest:
        """As it is written there, right or wrong. Raises ValueError for what is no manifest."""
        document = json.loads(text)
        if not isinstance(document, dict) or document.keys() != {"schema", "files", "root"}:
            raise ValueError("other keys than a manifest has")
        if document["schema"] != SCHEMA or not _is_plain(document["root"]):
            raise ValueError("another kind of manifest")
        if not isinstance(document["files"], list):
            raise ValueError("no list of files")
        files = tuple(map(_link, document["files"]))
        if len({file.path for file in files}) != len(files):
            raise ValueError("one file twice")
        return cls(files, document["root"])


def _link(entry: Mapping[str, Any]) -> Link:
    if not isinstance(entry, dict) or entry.keys() != {"path", "size", "sha256", "chain"}:
        raise ValueError("an entry that is none")
    if not all(map(_is_plain, (entry["path"], entry["sha256"], entry["chain"]))) or type(entry["size"]) is not int:
        raise ValueError("an entry of other types")
    return Link(**entry)


def _is_plain(text: object) -> bool:
    return isinstance(text, str) and text.isascii() and text.isprintable()


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()

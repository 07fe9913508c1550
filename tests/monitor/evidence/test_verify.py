"""A bundle is what it was, or the first file that is not is named; an archive that is no bundle is never opened."""

from __future__ import annotations

import json
import stat
import struct
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.errors import EvidenceFileError
from monitor.evidence import archive as archives
from monitor.evidence.archive import written
from monitor.evidence.chain import MANIFEST, FileDigest, Manifest
from monitor.evidence.verify import Verified, verify
from tests.monitor.evidence.recorded import files_of

FILES = {
    "report.txt": b"Evidence of run run_1\n",
    "samples/001/answer-1.raw": b"\x00\xff" * 200,
    "samples/001/request.json": b"{}",
    "samples/002/request.json": b'{"model": "lark"}' * 30,
}


def made(folder: Path, files: Mapping[str, bytes] = FILES) -> Path:
    target = folder / f"{len(list(folder.iterdir()))}.zip"
    with written(target) as writer:
        for path, content in files.items():
            writer.add(path, content)
    return target


def packed(folder: Path, files: Mapping[str, bytes], change: Callable[[zipfile.ZipInfo], None] | None = None) -> Path:
    """An archive made by somebody else, of the same form; `change` may spoil each entry."""
    target = folder / "other.zip"
    with zipfile.ZipFile(target, "w") as archive:
        for path, content in files.items():
            info = zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0))
            info.create_system, info.external_attr = 3, (stat.S_IFREG | 0o644) << 16
            if change is not None:
                change(info)
            archive.writestr(info, content)
    return target


def changed(folder: Path, change: Callable[[dict[str, bytes]], None]) -> Verified:
    files = files_of(made(folder))
    change(files)
    return verify(packed(folder, files))


def test_a_bundle_is_verified_by_the_root_that_its_export_gave(tmp_path: Path) -> None:
    bundle = made(tmp_path)
    root = json.loads(files_of(bundle)[MANIFEST])["root"]

    assert verify(bundle, root) == verify(bundle) == Verified(root, len(FILES))
    assert verify(bundle, "0" * 64).problem == "has another root than the one given"
    assert made(tmp_path).read_bytes() == bundle.read_bytes()


@pytest.mark.parametrize(
    ("change", "path", "problem"),
    [
        (lambda files: files.update({"samples/001/request.json": b"[]"}), "samples/001/request.json", "differs"),
        (lambda files: files.pop("samples/002/request.json"), "samples/002/request.json", "is missing"),
        (lambda files: files.update({"samples/001/b.json": b""}), "samples/001/b.json", "is extra"),
        (
            lambda files: files.update({"samples/002/request.json": b"", "report.txt": b"", "extra": b""}),
            "extra",
            "is extra",
        ),
    ],
)
def test_the_first_file_that_is_not_what_it_was_is_named(
    tmp_path: Path, change: Callable[[dict[str, bytes]], None], path: str, problem: str
) -> None:
    found = changed(tmp_path, change)

    assert (found.path, found.problem) == (path, problem)


def test_a_manifest_that_was_changed_breaks_the_chain(tmp_path: Path) -> None:
    def rename(files: dict[str, bytes]) -> None:
        files[MANIFEST] = files[MANIFEST].replace(b"samples/002", b"samples/003")
        files["samples/003/request.json"] = files.pop("samples/002/request.json")

    def cut(files: dict[str, bytes]) -> None:
        manifest = json.loads(files[MANIFEST])
        manifest["files"] = manifest["files"][:-1]
        files[MANIFEST] = json.dumps(manifest).encode()
        files.pop("samples/002/request.json")

    assert changed(tmp_path, rename).problem == "the chain breaks at samples/003/request.json"
    assert changed(tmp_path, cut).problem == "the root is not the chain's end"


DIGESTS = st.lists(
    st.builds(
        FileDigest,
        path=st.text("abc/", min_size=1, max_size=4),
        size=st.integers(0, 9),
        sha256=st.sampled_from(["aa", "bb", "cc"]),
    ),
    unique_by=lambda file: file.path,
    max_size=5,
)


@given(DIGESTS, DIGESTS)
@settings(max_examples=50)
def test_two_sets_of_files_have_one_root_only_if_they_are_the_same(
    one: list[FileDigest], two: list[FileDigest]
) -> None:
    same = Manifest.of(one).root == Manifest.of(two).root

    assert same == (sorted(one) == sorted(two))
    assert Manifest.from_json(Manifest.of(one).to_json()) == Manifest.of(one[::-1])


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return made(tmp_path_factory.mktemp("whole")).read_bytes()


@given(st.data())
@settings(max_examples=50)
def test_whatever_happens_to_its_bytes_a_bundle_is_never_taken_for_another(
    whole: bytes, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(whole) - 1))
    spoilt = data.draw(
        st.sampled_from(
            [
                whole[:place] + bytes([whole[place] ^ data.draw(st.integers(1, 255))]) + whole[place + 1 :],
                whole[:place],
                whole[:place] + b"more" + whole[place:],
            ]
        )
    )
    file = tmp_path_factory.mktemp("spoilt") / "b.zip"
    file.write_bytes(spoilt)

    try:
        found = verify(file)
    except EvidenceFileError:
        return

    # Where it is verified, only what no reader sees was changed: a date, say.
    assert found.problem is not None or files_of(spoilt) == files_of(whole)


# Archives that mean no good


def refused(file: Path) -> str:
    with pytest.raises(EvidenceFileError) as caught:
        verify(file)
    return caught.value.message


@pytest.mark.parametrize(
    "path", ["../up", "/etc/passwd", "a/../../b", "a//b", "a/", "./a", "..", "a\\b", "C:x", "a\nb", "ä", "a" * 300]
)
def test_a_name_that_no_bundle_has_is_refused(tmp_path: Path, path: str) -> None:
    assert "name that no bundle has" in refused(packed(tmp_path, {path: b"", MANIFEST: b"{}"}))


def spoil(**fields: object) -> Callable[[zipfile.ZipInfo], None]:
    def change(info: zipfile.ZipInfo) -> None:
        for name, value in fields.items():
            setattr(info, name, value)

    return change


@pytest.mark.parametrize(
    "change",
    [
        spoil(external_attr=(stat.S_IFLNK | 0o777) << 16),
        spoil(external_attr=(stat.S_IFREG | 0o4755) << 16),
        spoil(external_attr=(stat.S_IFIFO | 0o644) << 16),
        spoil(extra=struct.pack("<HH4s", 0x7075, 4, b"name")),
        spoil(comment=b"hidden"),
        spoil(compress_type=zipfile.ZIP_BZIP2),
        spoil(compress_type=zipfile.ZIP_LZMA),
    ],
)
def test_what_is_no_plain_file_is_refused(tmp_path: Path, change: Callable[[zipfile.ZipInfo], None]) -> None:
    message = refused(packed(tmp_path, {"link": b"/etc/passwd", MANIFEST: b"{}"}, change))

    assert "no plain file" in message or "packed in a way" in message


def test_a_file_that_claims_to_be_huge_is_refused_before_it_is_read(tmp_path: Path) -> None:
    bundle = packed(tmp_path, {"a": b"", MANIFEST: b"{}"})
    raw = bytearray(bundle.read_bytes())
    entry = raw.index(b"PK\x01\x02")
    raw[entry + 24 : entry + 28] = struct.pack("<L", archives.MOST_BYTES + 1)
    bundle.write_bytes(raw)

    assert "a is too large" in refused(bundle)


def test_a_small_file_that_unpacks_to_more_than_it_claims_differs(tmp_path: Path) -> None:
    files = files_of(made(tmp_path))
    files["report.txt"] = b"Evidence" * 100_000
    bundle = packed(tmp_path, files, spoil(compress_type=zipfile.ZIP_DEFLATED))
    raw = bytearray(bundle.read_bytes())
    entry = raw.index(b"PK\x01\x02")
    raw[entry + 24 : entry + 28] = struct.pack("<L", len(FILES["report.txt"]))
    bundle.write_bytes(raw)

    assert (verify(bundle).path, verify(bundle).problem) == ("report.txt", "differs")


def test_more_files_or_bytes_than_any_bundle_has_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = made(tmp_path)

    monkeypatch.setattr(archives, "MOST_BYTES_TOGETHER", 100)
    assert "too large together" in refused(bundle)
    monkeypatch.setattr(archives, "MOST_FILES", 2)
    assert "more than 2 files" in refused(bundle)


@pytest.mark.parametrize(
    "manifest",
    [
        b"[]",
        b"{}",
        b"\xff",
        b"[" * 100_000,
        b'{"schema": "monitor.evidence/2", "files": [], "root": ""}',
        b'{"schema": "monitor.evidence/1", "files": [], "root": "", "more": 1}',
        b'{"schema": "monitor.evidence/1", "files": [1], "root": ""}',
        b'{"schema": "monitor.evidence/1", "files": {"a": 1}, "root": ""}',
        b'{"schema": "monitor.evidence/1", "files": 7, "root": ""}',
        b'{"schema": "monitor.evidence/1", "files": [{"path": "a"}], "root": ""}',
        Manifest.of([FileDigest("a", 0, ""), FileDigest("a", 1, "")]).to_json(),
        Manifest.of([FileDigest("a", 0, "")]).to_json().replace(b'"a"', b'"\\ud800"'),
        Manifest.of([FileDigest("a", 0, "")]).to_json().replace(b'"a"', b'"a\\n0\\n"'),
    ],
)
def test_a_manifest_that_is_none_is_refused(tmp_path: Path, manifest: bytes) -> None:
    assert f"{MANIFEST} cannot be read" in refused(packed(tmp_path, {MANIFEST: manifest}))


def test_an_archive_that_hides_something_is_refused(tmp_path: Path) -> None:
    whole = made(tmp_path).read_bytes()
    with pytest.warns(UserWarning, match="Duplicate"):
        twice = packed(tmp_path, {"a": b"", "b": b"", MANIFEST: b"{}"}, spoil(filename=MANIFEST)).read_bytes()

    for hidden in (b"#!/bin/sh\n" + whole, whole + b"more", whole[:-2] + b"\x04\x00more", b"", twice):
        file = tmp_path / "hidden.zip"
        file.write_bytes(hidden)
        refused(file)
    assert "has no manifest.json" in refused(packed(tmp_path, {"a": b""}))


def test_a_bundle_that_cannot_be_finished_leaves_nothing(tmp_path: Path) -> None:
    def fail() -> None:
        with written(tmp_path / "b.zip") as writer:
            writer.add("a", b"")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()

    assert list(tmp_path.iterdir()) == []

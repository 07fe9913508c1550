"""Private eval sets at rest: versions by content, nothing of the text in the open, and clear errors for what is not
what was sealed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import delete, select, update

from monitor.errors import SuiteUnreadableError, UsageError
from monitor.store import Store
from monitor.store.tables import AuditEntry, SuiteChunk, SuiteVersion, Table
from monitor.suites.content import CHUNK_BYTES
from monitor.suites.key import SuiteKey
from monitor.suites.sealing import Unsealable, seal, unseal
from monitor.suites.suites import Imported, Source, Suites
from probes.errors import SuiteFileError
from probes.evals.formats import Format, Reading, detect, read_items
from tests.monitor.store.material import AT
from tests.servers import SQLITE

FILES = Path(__file__).parents[2] / "probes" / "evals" / "files"
CANARY = "canary-of-an-item-9d27c1"
KEY = SuiteKey(bytes(range(32)))
OTHER_KEY = SuiteKey(bytes(range(1, 33)))

Import = Callable[..., Imported]


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    with Store.open(database_url, at=AT) as opened:
        yield opened


@pytest.fixture
def suites(store: Store) -> Suites:
    return Suites(store.sessions)


@pytest.fixture
def imported(suites: Suites, tmp_path: Path) -> Import:
    """`imported([line, …], name="s")`, a minute later each time."""
    clock = iter(range(1000))

    def do(lines: list[Any], name: str = "s", key: SuiteKey = KEY, how: Format = Format.OWN) -> Imported:
        file = tmp_path / "items.jsonl"
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
        at = AT + timedelta(minutes=next(clock))
        return suites.import_file(name, Source(file, Reading(how), tmp_path), key, actor="cli:test", at=at)

    return do


def line(number: int, size: int = 0) -> dict[str, Any]:
    text = f"{CANARY} {number} " + "x" * size
    return {"prompt": text, "grader": "exact", "expected": f"{CANARY}-{number}", "category": f"{CANARY}-c{number % 2}"}


def test_what_was_imported_comes_out_item_by_item(suites: Suites, imported: Import) -> None:
    done = imported([line(1), line(2)])
    assert (done.new, done.record.version, done.record.items, done.record.format) == (True, 1, 2, "own")

    opened = suites.open("s", KEY)
    items = list(opened.items())
    assert [item.expected for item in items] == [f"{CANARY}-1", f"{CANARY}-2"]
    assert opened.head.graders == {"exact": 2}
    assert opened.head.categories == {f"{CANARY}-c0": 1, f"{CANARY}-c1": 1}
    assert CANARY not in repr(opened) + repr(items) + repr(done)


@SQLITE
@pytest.mark.parametrize("name", ["own.jsonl", "k2vv_samples.jsonl", "lm_eval.jsonl", "inspect_samples.jsonl"])
def test_every_format_is_kept_whole(suites: Suites, tmp_path: Path, name: str) -> None:
    with (FILES / name).open("rb") as file:
        how = detect(file)
        file.seek(0)
        given = [numbered.item for numbered in read_items(file)]
    suites.import_file("s", Source(FILES / name, Reading(how), tmp_path), KEY, actor="cli:test", at=AT)
    kept = list(suites.open("s", KEY).items())
    assert kept == given
    assert [item.line for item in kept] == [item.line for item in given]


def test_the_same_items_are_no_new_version_and_other_ones_are(suites: Suites, imported: Import) -> None:
    first = imported([line(1)])
    again = imported([{"expected": f"{CANARY}-1", "grader": {"kind": "exact"}, **line(1)}])
    second = imported([line(1), line(2)])
    assert (again.new, again.record.sha256, again.record.version) == (False, first.record.sha256, 1)
    assert (second.new, second.record.version) == (True, 2)
    assert [record.version for record in suites.versions("s")] == [2, 1]

    back = imported([line(1)])
    assert (back.new, suites.records()[0].version) == (False, 1)
    assert len(list(suites.open("s", KEY, sha256=second.record.sha256).items())) == 2


@SQLITE
def test_a_suite_keeps_its_canary_and_another_has_another(suites: Suites, imported: Import) -> None:
    imported([line(1)])
    first = suites.open("s", KEY).head.canary
    imported([line(2)])
    imported([line(2)], "t")
    assert suites.open("s", KEY).head.canary == first
    assert suites.open("t", KEY).head.canary != first
    assert first.startswith("eval-canary-")


def test_suites_are_listed_by_name_and_removed_with_all_versions(
    suites: Suites, imported: Import, store: Store
) -> None:
    for name, lines in (("b", [line(1)]), ("a", [line(1)]), ("a", [line(2)])):
        imported(lines, name)
    assert [(record.name, record.version) for record in suites.records()] == [("a", 2), ("b", 1)]

    suites.remove("a", actor="cli:test", at=AT)

    assert [record.name for record in suites.records()] == ["b"]
    with store.sessions.read() as session:
        assert set(session.scalars(select(SuiteChunk.suite))) == {"b"}
        actions = list(session.scalars(select(AuditEntry.action).order_by(AuditEntry.id)))
    assert actions == ["suite.import"] * 3 + ["suite.remove"]
    with pytest.raises(UsageError, match="no suite a"):
        suites.open("a", KEY)
    with pytest.raises(UsageError, match="no suite a"):
        suites.remove("a", actor="cli:test", at=AT)


@SQLITE
def test_a_file_that_is_refused_leaves_nothing(suites: Suites, imported: Import) -> None:
    with pytest.raises(SuiteFileError, match="Line 2 is refused"):
        imported([line(1), {"prompt": CANARY, "grader": CANARY}])
    assert suites.records() == []


def test_neither_text_nor_key_is_in_any_column(imported: Import, store: Store, suites: Suites) -> None:
    imported([line(number, 3000) for number in range(200)])
    canary = suites.open("s", KEY).head.canary
    for table in Table.metadata.sorted_tables:
        with store.sessions.read() as session:
            for row in session.execute(select(table)):
                told = b"".join(cell if isinstance(cell, bytes) else str(cell).encode() for cell in row)
                assert CANARY.encode() not in told
                assert canary.encode() not in told
                assert KEY.secret not in told


@SQLITE
def test_nor_in_any_byte_of_the_database_s_files(imported: Import, suites: Suites, tmp_path: Path) -> None:
    imported([line(number, 3000) for number in range(200)])
    suites.remove("s", actor="cli:test", at=AT)
    imported([line(number) for number in range(10)])
    (tmp_path / "items.jsonl").unlink()
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert tmp_path / "monitor.db" in files
    for path in files:
        content = path.read_bytes()
        assert CANARY.encode() not in content, path
        assert KEY.secret not in content, path


def test_a_large_suite_is_kept_in_chunks_and_none_opens_elsewhere(
    suites: Suites, imported: Import, store: Store
) -> None:
    record = imported([line(number, CHUNK_BYTES // 4) for number in range(12)]).record
    assert record.chunks == 3
    assert len(list(suites.open("s", KEY).items())) == 12

    with store.sessions.write() as session:
        first, last = (session.get_one(SuiteChunk, ("s", 1, position)) for position in (0, 2))
        first.sealed, last.sealed = last.sealed, first.sealed
    with pytest.raises(SuiteUnreadableError, match="chunk 0 of 3 is not what was sealed"):
        list(suites.open("s", KEY).items())


def flip(blob: bytes, at: int) -> bytes:
    return blob[:at] + bytes([blob[at] ^ 1]) + blob[at + 1 :]


@SQLITE
@pytest.mark.parametrize("at", [0, 12, -1])
def test_one_changed_bit_of_a_chunk_is_seen(suites: Suites, imported: Import, store: Store, at: int) -> None:
    imported([line(1), line(2)])
    with store.sessions.write() as session:
        chunk = session.get_one(SuiteChunk, ("s", 1, 0))
        chunk.sealed = flip(chunk.sealed, at % len(chunk.sealed))
    with pytest.raises(SuiteUnreadableError, match="The suite s, version 1, is damaged: chunk 0 of 1") as caught:
        list(suites.open("s", KEY).items())
    assert CANARY not in str(caught.value)


@SQLITE
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (update(SuiteVersion).values(sha256="0" * 64), "its head is not what was sealed"),
        (update(SuiteVersion).values(head=b"short"), "its head is not what was sealed"),
        (update(SuiteVersion).values(items=1), "its items are not those of its hash"),
        (update(SuiteVersion).values(chunks=2), "chunk 1 of 2 is missing"),
        (delete(SuiteChunk), "chunk 0 of 1 is missing"),
        (update(SuiteVersion).values(chunks=0), "its items are not those of its hash"),
    ],
)
def test_a_changed_row_is_seen(suites: Suites, imported: Import, store: Store, change: Any, said: str) -> None:
    imported([line(1), line(2)])
    with store.sessions.write() as session:
        session.execute(change)
    with pytest.raises(SuiteUnreadableError, match=said):
        list(suites.open("s", KEY).items())


@SQLITE
def test_another_key_opens_nothing_and_seals_nothing_beside_it(suites: Suites, imported: Import) -> None:
    imported([line(1)])
    with pytest.raises(SuiteUnreadableError, match=f"sealed with the key {KEY.id}, and the key here is {OTHER_KEY.id}"):
        suites.open("s", OTHER_KEY)
    with pytest.raises(SuiteUnreadableError, match="sealed with the key"):
        imported([line(2)], "t", OTHER_KEY)
    assert [record.name for record in suites.records()] == ["s"]


@SQLITE
def test_a_row_that_claims_another_key_opens_with_none(suites: Suites, imported: Import, store: Store) -> None:
    imported([line(1)])
    with store.sessions.write() as session:
        session.execute(update(SuiteVersion).values(key_id=OTHER_KEY.id))
    with pytest.raises(SuiteUnreadableError, match="its head is not what was sealed"):
        suites.open("s", OTHER_KEY)


@settings(max_examples=30)
@given(st.binary(max_size=200), st.integers(0, 10_000), st.text(max_size=10))
def test_sealed_bytes_open_with_their_key_in_their_place_only(plain: bytes, at: int, place: str) -> None:
    sealed = seal(KEY, plain, place)
    assert unseal(KEY, sealed, place) == plain
    assert seal(KEY, plain, place) != sealed
    for key, blob, where in (
        (OTHER_KEY, sealed, place),
        (KEY, flip(sealed, at % len(sealed)), place),
        (KEY, sealed[:-1], place),
        (KEY, sealed, place + "x"),
    ):
        with pytest.raises(Unsealable):
            unseal(key, blob, where)


def test_a_key_s_id_and_representation_say_nothing_of_it() -> None:
    assert KEY.id != OTHER_KEY.id
    assert KEY.secret.hex()[:8] not in KEY.id
    assert "secret" not in repr(KEY)


@SQLITE
def test_a_file_that_grows_while_it_is_read_is_no_version(suites: Suites, tmp_path: Path) -> None:
    class Growing(Source):
        def items(self) -> Any:
            with self.path.open("a") as file:
                file.write(json.dumps(line(len(self.path.read_bytes()))) + "\n")
            return super().items()

    file = tmp_path / "items.jsonl"
    shutil.copy(FILES / "own.jsonl", file)
    with pytest.raises(UsageError, match="changed while it was read"):
        suites.import_file("s", Growing(file, Reading(Format.OWN), tmp_path), KEY, actor="cli:test", at=AT)
    assert suites.records() == []

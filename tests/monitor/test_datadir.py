"""The data directory: private, its seed made once and never remade, and clear errors from the disk."""

from __future__ import annotations

import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from monitor.datadir import DataDir
from monitor.errors import StorageError

ROOT = Path(__file__).parents[2]
CREATORS = 16


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_it_is_created_private_with_its_parents(tmp_path: Path) -> None:
    directory = DataDir(tmp_path / "a" / "b")

    directory.create()
    directory.create()

    assert mode_of(directory.path) == 0o700


def test_a_directory_that_is_there_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o750)

    DataDir(tmp_path / "data").create()

    assert mode_of(tmp_path / "data") == 0o750


def test_everything_lives_below_it(tmp_path: Path) -> None:
    directory = DataDir(tmp_path)

    assert {directory.seed_path.parent, directory.database_path.parent} == {tmp_path}


def test_a_directory_that_cannot_be_looked_into_is_a_storage_error(tmp_path: Path) -> None:
    directory = DataDir(tmp_path / ("a" * 300))

    with pytest.raises(StorageError, match="Cannot look into the data directory"):
        directory.has(directory.database_path)


def test_the_seed_is_made_once_private_and_kept(tmp_path: Path) -> None:
    directory = DataDir(tmp_path / "data")

    seed = directory.seed()

    assert len(seed) == 32
    assert mode_of(directory.seed_path) == 0o600
    assert directory.seed() == seed == directory.seed_path.read_bytes()
    assert [path.name for path in directory.path.iterdir()] == ["seed"]


def test_two_installations_have_different_seeds(tmp_path: Path) -> None:
    assert DataDir(tmp_path / "a").seed() != DataDir(tmp_path / "b").seed()


def test_creators_at_the_same_time_agree(tmp_path: Path) -> None:
    barrier = Barrier(CREATORS)

    def create(_: int) -> bytes:
        barrier.wait()
        return DataDir(tmp_path / "data").seed()

    with ThreadPoolExecutor(CREATORS) as pool:
        seeds = set(pool.map(create, range(CREATORS)))

    assert seeds == {(tmp_path / "data" / "seed").read_bytes()}
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["seed"]


@pytest.mark.parametrize(("content", "said"), [(b"", "0 bytes"), (b"a" * 31, "31 bytes"), (b"a" * 33, "more than 32")])
def test_a_seed_of_the_wrong_length_is_refused_and_not_remade(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "seed"
    path.write_bytes(content)
    path.chmod(0o600)

    with pytest.raises(StorageError, match=said) as caught:
        DataDir(tmp_path).seed()

    assert caught.value.exit_code == 6
    assert "backup" in caught.value.remedy
    assert path.read_bytes() == content


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o666])
def test_a_seed_that_others_may_read_is_refused(tmp_path: Path, mode: int) -> None:
    seed = DataDir(tmp_path).seed()
    (tmp_path / "seed").chmod(mode)

    with pytest.raises(StorageError, match=f"mode {mode:04o}") as caught:
        DataDir(tmp_path).seed()

    assert f"chmod 600 {tmp_path / 'seed'}" in caught.value.remedy
    assert (tmp_path / "seed").read_bytes() == seed


def test_a_seed_that_is_a_folder_is_a_storage_error(tmp_path: Path) -> None:
    (tmp_path / "seed").mkdir()

    with pytest.raises(StorageError, match="seed: Is a directory"):
        DataDir(tmp_path).seed()


@pytest.mark.parametrize("below", ["file", "file/data"])
def test_a_path_that_is_a_file_is_a_storage_error(tmp_path: Path, below: str) -> None:
    (tmp_path / "file").write_text("not a folder")

    with pytest.raises(StorageError, match="Cannot create the data directory") as caught:
        DataDir(tmp_path / below).create()

    assert caught.value.code == "database_unavailable"
    assert caught.value.exit_code == 6
    assert "MONITOR_DATA_DIR" in caught.value.remedy
    assert (tmp_path / "file").read_text() == "not a folder"


# A process that may not write one byte more meets the same failing write as one on a full disk.
FULL_DISK = """
import resource, sys
from pathlib import Path
from monitor.datadir import DataDir
from monitor.errors import StorageError
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
try:
    DataDir(Path(sys.argv[1])).seed()
except StorageError as error:
    print(error.exit_code, error.message)
"""


def test_a_full_disk_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "data"

    ran = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(path)], capture_output=True, text=True, check=True, cwd=ROOT
    )

    assert ran.stdout.startswith(f"6 Cannot keep the seed in the data directory {path}")
    assert list(path.iterdir()) == []

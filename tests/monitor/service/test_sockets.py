"""Where the sockets are."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.errors import UsageError
from monitor.service.sockets import fits, listening, socket_folder, url_of


def test_they_are_in_the_data_directory(tmp_path: Path) -> None:
    with socket_folder(tmp_path) as folder:
        assert folder == tmp_path


@pytest.mark.parametrize("name", ["d" * 100, "with space", "wïth ümlaut", "a%20b", "q?x=1"])
def test_a_path_that_does_not_fit_gives_way_to_a_private_folder(tmp_path: Path, name: str) -> None:
    with socket_folder(tmp_path / name) as folder:
        assert folder.stat().st_mode & 0o777 == 0o700
        assert fits(folder / "reference.sock")
    assert not folder.exists()


@given(st.integers(1, 200))
def test_what_fits_is_what_the_kernel_takes(length: int) -> None:
    path = Path("/" + "p" * length)
    with socket.socket(socket.AF_UNIX) as one, pytest.raises(OSError, match=r"No such file|too long") as refused:
        one.connect(str(path))
    assert ("too long" in str(refused.value)) != fits(path)


def test_an_address_that_is_taken_is_named() -> None:
    with listening("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        assert url_of("127.0.0.1", first) == f"http://127.0.0.1:{port}"
        with pytest.raises(UsageError, match=rf"Cannot listen on 127\.0\.0\.1 port {port}: Address already in use"):
            listening("127.0.0.1", port)


@pytest.mark.parametrize("host", ["..", "a" * 64])
def test_a_host_that_no_machine_can_have_is_a_usage_error(host: str) -> None:
    with pytest.raises(UsageError, match="cannot be the name of a machine"):
        listening(host, 0)


def test_whoever_connects_before_it_is_served_waits() -> None:
    with listening("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        pass

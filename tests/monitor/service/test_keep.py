"""What `monitor up` becomes: what it does where it cannot do its work."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import pytest

from monitor.service.installation import Installation
from monitor.service.keep import _reload, keep
from monitor.service.stderr import Stderr


def test_children_that_cannot_be_made_leave_no_trace_of_a_service(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("no folder")
    (tmp_path / "sockets").mkdir()
    lock = os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT)
    os.write(lock, b"a note")
    with socket.create_server(("127.0.0.1", 0)) as listener, pytest.raises(NotADirectoryError):
        keep(
            Installation(
                host="127.0.0.1",
                url="http://127.0.0.1",
                log_format="text",
                data=str(tmp_path / "data"),
                lock=lock,
                listener=listener.fileno(),
                sockets=str(tmp_path / "sockets"),
                own_sockets=True,
                broker="valkey-server",
                reference=None,
            )
        )
    os.close(lock)

    assert (tmp_path / "lock").read_bytes() == b""
    assert not (tmp_path / "sockets").exists()


def test_a_reload_that_cannot_be_started_is_told_and_ends_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    _reload("127.0.0.1", Stderr("text"))
    assert "could not be looked at: [Errno 2] No such file or directory" in capsys.readouterr().err

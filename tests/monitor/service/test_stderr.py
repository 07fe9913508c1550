"""Where the processes of `monitor up` tell what happens."""

from __future__ import annotations

import sys

import pytest

from monitor.service.stderr import Stderr


def test_without_anyone_to_tell_nothing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    Stderr("text").note("nobody reads this")

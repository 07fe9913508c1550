"""A notice of a drill says so, whatever its format, and one of a real alert does not."""

from __future__ import annotations

import pytest

from monitor.deliveries.formats import render
from tests.monitor.deliveries.material import alert, notice

FORMATS = ("standard", "alertmanager_v4", "slack", "discord", "text")


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_says_that_it_is_a_drill(form: str) -> None:
    drill = alert(labels={"provider": "drill", "model": "smol", "drill": "true"})

    assert "DRILL drill/smol: logprobs" in render(notice(drill), form).content.decode()
    assert "DRILL" not in render(notice(alert()), form).content.decode()


def test_a_title_says_that_it_is_a_drill() -> None:
    drill = alert(labels={"provider": "drill", "model": "smol", "drill": "true"})

    assert render(notice(drill), "text").content.decode().startswith("[DRILL FIRING:1]")

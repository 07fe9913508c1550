from __future__ import annotations

from monitor.drift.stages import Stage, confirm, screen


def test_a_hit_is_confirmed_or_dismissed() -> None:
    assert [screen(0.02), screen(0.0201)] == [Stage.HIT, Stage.CLEAR]
    assert [confirm(0.002), confirm(0.0021)] == [Stage.CONFIRMED, Stage.DISMISSED]

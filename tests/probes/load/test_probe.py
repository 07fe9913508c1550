"""The plan of a load: what is due when."""

from __future__ import annotations

from itertools import pairwise

import pytest

from probes.load.probe import Load, plan

SEED, NONCE = bytes(32), b"nonce"
SMALL = Load(per_second=10.0, each=3, sizes=(50, 100), replays=2)


def test_everything_is_due_in_its_order_and_the_replays_stand_at_both_ends() -> None:
    items = plan(SEED, NONCE, SMALL).items

    assert [(item.key.partition("/")[0], item.rep) for item in items] == [
        *[("replay", 0)] * 2,
        *[("load", 0)] * 6,
        *[("replay", 1)] * 2,
    ]
    assert [item.key for item in items[:2]] == [item.key for item in items[-2:]]
    due = [item.at for item in items]
    assert due[0] == 0.0
    assert all(one is not None and other is not None and one <= other for one, other in pairwise(due))
    assert plan(SEED, NONCE, SMALL) == plan(SEED, NONCE, SMALL) != plan(SEED, b"other", SMALL)


@pytest.mark.parametrize(("rpm", "per_second"), [(None, 1.0), (600, 1.0), (60, 0.5), (6, 0.05)])
def test_no_more_than_half_of_the_providers_rate_is_asked_for(rpm: int | None, per_second: float) -> None:
    assert Load().within(rpm).per_second == pytest.approx(per_second)


def test_a_part_of_it_has_fewer_streams_of_every_size() -> None:
    items = plan(SEED, NONCE, SMALL.cut(0.4)).items

    assert sorted(item.key.split("/")[1] for item in items if item.key.startswith("load")) == ["100", "100", "50", "50"]

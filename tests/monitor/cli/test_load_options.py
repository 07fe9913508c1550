from __future__ import annotations

from collections.abc import Callable

import pytest

from monitor.cli.load_options import load_of, slos_of
from monitor.errors import UsageError
from probes.load.probe import Load


def test_what_is_not_given_is_as_usual_and_without_anything_there_is_no_load() -> None:
    assert load_of(None, None, None) is None
    assert load_of(2.0, None, None) == Load(per_second=2.0)
    assert load_of(None, 5, "100, 900") == Load(each=5, sizes=(100, 900))


def test_a_promise_is_read_in_its_units() -> None:
    small, all_sizes = slos_of(["ttft=2s, up_to=4000", "tpot=80ms,end_to_end=30"])

    assert (small.ttft, small.up_to, small.tpot) == (2.0, 4000, None)
    assert (all_sizes.tpot, all_sizes.end_to_end, all_sizes.up_to) == (0.08, 30.0, None)


@pytest.mark.parametrize(
    "asked",
    [
        lambda: load_of(0.0, None, None),
        lambda: load_of(None, -1, None),
        lambda: load_of(None, None, "200,many"),
        lambda: load_of(None, None, "0"),
        lambda: slos_of(["quick"]),
        lambda: slos_of(["up_to=9"]),
        lambda: slos_of(["ttft=0"]),
        lambda: slos_of(["ttft=soon"]),
        lambda: slos_of(["up_to=many,ttft=1s"]),
    ],
)
def test_what_cannot_be_meant_is_refused(asked: Callable[[], object]) -> None:
    with pytest.raises(UsageError):
        asked()

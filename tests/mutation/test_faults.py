"""Each fault of an endpoint turns exactly the named checks red, and an endpoint without a fault none."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest

from probes.plan import Sample
from probes.quirks import Quirk
from probes.tools.ladder import Rung
from probes.tools.scored import Exclusion, Fault
from tests.endpoints.wire import Wire
from tests.mutation.faults import BY_PART
from tests.mutation.faults.mutation import Mutation
from tests.mutation.running import Red, ask, meaning, red_of
from tests.mutation.scenes import SCENES, Scene

pytestmark = pytest.mark.mutation


def faults() -> Iterator[object]:
    for part, mutations in BY_PART.items():
        for one in mutations:
            for form, red in (("stream", one.stream), ("plain", one.plain)):
                if red is not None:
                    yield pytest.param(one, form == "stream", red, id=f"{part}: {one.name} [{form}]")


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "plain"])
@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_an_endpoint_without_a_fault_is_all_green(scene: Scene, stream: bool) -> None:
    assert red_of(scene, ask(scene, Wire(), stream=stream)) == Red(quirks=scene.quirks)


@pytest.mark.parametrize(("mutation", "stream", "red"), list(faults()))
def test_a_fault_turns_exactly_its_checks_red(mutation: Mutation, stream: bool, red: Red) -> None:
    sample = ask(mutation.scene, mutation.wire, stream=stream)
    assert red_of(mutation.scene, sample) == red
    if red.mended:
        assert meaning(sample) == meaning(unmutated(mutation.scene, stream=stream))


@cache
def unmutated(scene: Scene, *, stream: bool) -> Sample:
    return ask(scene, Wire(), stream=stream)


# Told by what the probe expects where it reads an answer itself; the ladder has a rung for it.
NOT_READ_HERE = {Quirk.TC_VALUE_MISMATCH, Quirk.LP_CHAT_SHAPE_ON_COMPLETIONS}


def test_every_check_is_turned_red_by_some_fault() -> None:
    shown = [red for part in BY_PART.values() for one in part for red in (one.stream, one.plain) if red is not None]

    assert frozenset().union(*(red.quirks for red in shown)) == set(Quirk) - NOT_READ_HERE
    assert frozenset().union(*(red.faults for red in shown)) == set(Fault)
    assert frozenset().union(*(red.rungs for red in shown)) == set(Rung) - {Rung.OK}
    assert {red.excluded for red in shown} == {None, *Exclusion}


def test_no_two_faults_of_a_part_have_one_name() -> None:
    names = [f"{part}: {one.name}" for part, mutations in BY_PART.items() for one in mutations]
    assert len(set(names)) == len(names)

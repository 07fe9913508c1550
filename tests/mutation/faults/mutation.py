"""A fault that an endpoint is given, and exactly what it must show."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tests.endpoints.wire import Wire
from tests.mutation.running import Red
from tests.mutation.scenes import Scene


@dataclass(frozen=True)
class Mutation:
    """stream, plain: what turns red in that form of the answer; None where the fault does not exist in it."""

    name: str
    scene: Scene
    wire: Wire
    stream: Red | None = None
    plain: Red | None = None


def always(name: str, scene: Scene, wire: Wire, *checks: StrEnum) -> Mutation:
    """Shows the same in both forms."""
    return Mutation(name, scene, wire, Red.of(*checks), Red.of(*checks))


def streamed(name: str, scene: Scene, wire: Wire, *checks: StrEnum) -> Mutation:
    return Mutation(name, scene, wire, stream=Red.of(*checks))


def whole(name: str, scene: Scene, wire: Wire, *checks: StrEnum) -> Mutation:
    return Mutation(name, scene, wire, plain=Red.of(*checks))

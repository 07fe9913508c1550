"""Conversations: requests of which each is decided by what came before it, and not at a plan's start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from probes.client import Ask
    from probes.plan import Item, Sample


class Talk(Protocol):
    """A conversation on its way: ask `item` and give `take` the sample, until `stop` is set. Of the same samples it
    always makes the same items."""

    @property
    def item(self) -> Item: ...

    @property
    def stop(self) -> object | None: ...

    def take(self, sample: Sample) -> None: ...


class Conversation(Protocol):
    """`foreseen` are its requests if it goes the shortest way: what it will take, not what will be sent."""

    @property
    def foreseen(self) -> Sequence[Item]: ...

    def begin(self) -> Talk: ...


def replay(talk: Talk, there: Mapping[tuple[str, int], Sample]) -> list[Sample]:
    """Give a talk the samples that are there already, by item and repeat; those that it took, turn by turn."""
    taken: list[Sample] = []
    while talk.stop is None and (sample := there.get((talk.item.key, talk.item.rep))) is not None:
        talk.take(sample)
        taken.append(sample)
    return taken


async def hold(ask: Ask, talk: Talk) -> None:
    """Bring a talk to its end."""
    while talk.stop is None:
        talk.take(await ask(talk.item))

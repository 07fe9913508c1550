"""Several pieces of work at the same time, as one: the first that fails ends the others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Coroutine, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _End:
    error: BaseException | None


async def all_of(work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """The results, in order."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one) for one in work]
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return [task.result() for task in tasks]


async def together(sources: Sequence[AsyncGenerator[T]]) -> AsyncGenerator[tuple[int, T]]:
    """What the sources give, as it comes, each with the number of its source. Closing ends them all. None goes more
    than a few items ahead of the reader."""
    given: asyncio.Queue[tuple[int, T] | _End] = asyncio.Queue(maxsize=len(sources))
    reading = [asyncio.create_task(_read(number, source, given)) for number, source in enumerate(sources)]
    left = len(reading)
    try:
        while left:
            item = await given.get()
            if not isinstance(item, _End):
                yield item
            elif item.error is None:
                left -= 1
            else:
                raise item.error
    finally:
        for task in reading:
            task.cancel()
        await asyncio.gather(*reading, return_exceptions=True)


async def _read(number: int, source: AsyncGenerator[T], given: asyncio.Queue[tuple[int, T] | _End]) -> None:
    error = None
    try:
        async with aclosing(source):
            async for item in source:
                await given.put((number, item))
    except Exception as failure:  # noqa: BLE001 - raised where the items are read
        error = failure
    await given.put(_End(error))

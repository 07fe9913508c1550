"""A model whose hidden state is a hash of the prefix, kept in pages as keys and values would be."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from reference_engine.forward.batch import Batch
from reference_engine.sched.plan import Plan
from reference_engine.sched.request import State
from tests.reference_engine.sched.readable_memory import ReadableMemory

VOCABULARY = 9
STOP = 8
_EMPTY = 0x9E3779B9


def hidden(before: int, token: int) -> int:
    mixed = (before * 6364136223846793005 + token + 1442695040888963407) % 2**64
    return mixed ^ (mixed >> 29)


def next_token(state: int) -> int:
    """The stop token one time in 32."""
    draw = (state >> 16) % 32
    return STOP if draw == 31 else draw % STOP


def states(ids: Sequence[int]) -> list[int]:
    """The hidden state after each token."""
    return list(accumulate(ids, hidden, initial=_EMPTY))[1:]


def alone(prompt: Sequence[int], max_tokens: int) -> list[int]:
    """Prompt and answer of a request that nobody else is near."""
    known, state = list(prompt), states(prompt)[-1]
    while len(known) < len(prompt) + max_tokens:
        known.append(next_token(state))
        if known[-1] == STOP:
            break
        state = hidden(state, known[-1])
    return known


def run(memory: ReadableMemory, plan: Plan, batch: Batch) -> list[int]:
    """Hidden states of the rows that are read; every earlier position of a living request must lie in its pages."""
    memory.copy(plan.copies)
    tables = [
        list(zip(*(group[line] for group in batch.tables.tolist()), strict=True)) for line in range(len(plan.entries))
    ]
    for entry, table in zip(plan.entries, tables, strict=True):
        if entry.request.state is not State.FINISHED:
            expected = states(entry.request.known[: entry.start])
            held = [memory.read(table, at, entry.start) for at in range(entry.start)]
            assert held == expected, f"{entry.request.id}: wrong pages"
    rows: list[int] = []
    for token, position, owner in zip(batch.ids.tolist(), batch.positions.tolist(), batch.owners.tolist(), strict=True):
        before = memory.read(tables[owner], position - 1, position) if position else _EMPTY
        rows.append(hidden(before or 0, token))
        memory.write(tables[owner], position, rows[-1])
    return [rows[line] for line in batch.read.tolist()]


def break_off(memory: ReadableMemory, plan: Plan) -> None:
    """A pass that fails: no page was copied, and its rows hold rubbish."""
    for entry in plan.entries:
        for position in range(entry.start, entry.end):
            memory.write(entry.pages, position, None)

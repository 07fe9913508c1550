"""Inventory: what two stores hold of an item is evened out, item by item. A move names the item that is next.

Both stores are asked for their stock in one turn, so that these tasks call in parallel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from probes.grammar import Draw
from probes.loops.task import Task, distinct, drawn, told
from probes.loops.world import Call, ErrorCode, Step, Tool, closed, count, one_of, refused, text

ROUNDS_PER_ITEM = 2
MOST = 100_000

_NAMES = {
    "count": ("count_stock", "get_stock", "stock_level"),
    "move": ("move_stock", "transfer_stock", "ship_between_stores"),
    "write_off": ("write_off", "scrap_stock", "discard_stock"),
}
_ABOUT = {
    "count": ("How many pieces of an item a store holds.", "The stock of one item in one store, in pieces."),
    "move": (
        "Moves pieces of the item whose turn it is; one move an item.",
        "Sends pieces of the item that is due to the other store. Each item is moved once.",
    ),
    "write_off": ("Takes pieces out of the books for good.", "Strikes lost or broken pieces from a store's stock."),
}
_SYSTEM = (
    "You look after the stock of two stores, {store} and {other}. Work with the tools alone; answer once all is done.",
    "You even out stock between the stores {store} and {other}. Use the tools; answer when nothing is left to do.",
)
_USER = (
    "Begin with item {item}. For each item, ask both stores for their stock in one turn, then move as many pieces from "
    "the fuller store to the other that both hold the same number. Each move names the item that is next; go on until "
    "none is. Then tell me the slips of the first and of the last move.",
    "Even out the stock, item by item, from {item} on. Count an item in both stores at once, then make one move so "
    "that both have equally many. A move tells you the next item. When there is none, answer with the slips of the "
    "first move and of the last one.",
)


@dataclass(frozen=True, slots=True)
class Line:
    """An item to be evened out; `slip` is what its move is called."""

    item: str
    slip: str


@dataclass(frozen=True, slots=True)
class Move:
    source: str
    to: str
    quantity: int


@dataclass(frozen=True, slots=True)
class Stock:
    """`counts` maps store and item to pieces, `moves` each item to its move, `scrapped` each item to pieces gone."""

    counts: Mapping[tuple[str, str], int]
    lines: tuple[Line, ...]
    moves: Mapping[str, Move]
    scrapped: Mapping[str, int]

    def line(self, item: str) -> Line | None:
        return next((line for line in self.lines if line.item == item), None)

    @property
    def due(self) -> Line | None:
        """The item whose turn it is."""
        return next((line for line in self.lines if line.item not in self.moves), None)

    def after(self, line: Line) -> str | None:
        place = self.lines.index(line) + 1
        return self.lines[place].item if place < len(self.lines) else None


def count_stock(state: Stock, arguments: Mapping[str, Any]) -> Step[Stock]:
    store, item = arguments["store"], arguments["item"]
    if state.line(item) is None:
        return refused(state, ErrorCode.NOT_FOUND, "There is no such item.")
    return Step(state, {"store": store, "item": item, "pieces": state.counts[store, item]})


def move(state: Stock, arguments: Mapping[str, Any]) -> Step[Stock]:
    """Making the same move again gives the same result, so that a lost one can be asked for."""
    item, source, to = arguments["item"], arguments["from_store"], arguments["to_store"]
    wanted = Move(source, to, int(arguments["quantity"]))
    line = state.line(item)
    if line is None:
        return refused(state, ErrorCode.NOT_FOUND, "There is no such item.")
    moved = Step(state, {"slip": line.slip, "next_item": state.after(line)})
    if item in state.moves:
        same = state.moves[item] == wanted
        return moved if same else refused(state, ErrorCode.CONFLICT, "That item was moved already.")
    if line is not state.due:
        return refused(state, ErrorCode.NOT_ALLOWED, "It is not this item's turn.")
    if source == to:
        return refused(state, ErrorCode.NOT_ALLOWED, "A move is from one store to the other.")
    if state.counts[source, item] < wanted.quantity:
        return refused(state, ErrorCode.NOT_ALLOWED, "The store does not hold that many.")
    counts = {
        **state.counts,
        (source, item): state.counts[source, item] - wanted.quantity,
        (to, item): state.counts[to, item] + wanted.quantity,
    }
    return replace(moved, state=replace(state, counts=counts, moves={**state.moves, item: wanted}))


def write_off(state: Stock, arguments: Mapping[str, Any]) -> Step[Stock]:
    store, item, quantity = arguments["store"], arguments["item"], int(arguments["quantity"])
    held = state.counts.get((store, item))
    if held is None:
        return refused(state, ErrorCode.NOT_FOUND, "There is no such item.")
    if held < quantity:
        return refused(state, ErrorCode.NOT_ALLOWED, "The store does not hold that many.")
    counts = {**state.counts, (store, item): held - quantity}
    scrapped = {**state.scrapped, item: state.scrapped.get(item, 0) + quantity}
    return Step(replace(state, counts=counts, scrapped=scrapped), {"item": item, "pieces": held - quantity})


def task(draw: Draw, rounds: int) -> Task:
    name, about = drawn(draw, _NAMES), drawn(draw, _ABOUT)
    pair = distinct(draw, "{place}", 2)
    start, moves = _stock(draw, pair, rounds // ROUNDS_PER_ITEM)
    level: dict[tuple[str, str], int] = {}
    script = []
    for line in start.lines:
        made = moves[line.item]
        level |= {(store, line.item): start.counts[made.to, line.item] + made.quantity for store in pair}
        script.append(tuple(Call(name("count"), {"store": store, "item": line.item}) for store in pair))
        moved = {"item": line.item, "from_store": made.source, "to_store": made.to, "quantity": made.quantity}
        script.append((Call(name("move"), moved),))
    first, last = start.lines[0], start.lines[-1]
    system = draw.choice(_SYSTEM).replace("{store}", pair[0]).replace("{other}", pair[1])
    return Task(
        scenario="stores",
        tools=_tools(name, about, pair),
        start=start,
        goal=replace(start, counts=level, moves=moves),
        messages=told(system, draw.choice(_USER).replace("{item}", first.item)),
        script=tuple(script),
        answer=(first.slip, last.slip),
        forbidden=Call(name("write_off"), {"store": pair[0], "item": last.item, "quantity": 1}),
    )


def _stock(draw: Draw, pair: list[str], items: int) -> tuple[Stock, Mapping[str, Move]]:
    """A stock that is uneven by an even number in every line; and the moves that even it out."""
    names, slips = distinct(draw, "{snake}_{few}", items), distinct(draw, "{code}", items)
    counts: dict[tuple[str, str], int] = {}
    moves = {}
    for item in names:
        less, half = 2 + draw.below(400), 1 + draw.below(200)
        poorer = draw.below(2)
        to, source = pair[poorer], pair[1 - poorer]
        counts |= {(to, item): less, (source, item): less + 2 * half}
        moves[item] = Move(source, to, half)
    lines = tuple(Line(item, slip) for item, slip in zip(names, slips, strict=True))
    return Stock(counts, lines, {}, {}), moves


def _tools(name: Callable[[str], str], about: Callable[[str], str], pair: list[str]) -> tuple[Tool[Stock], ...]:
    store, item = one_of("Which store.", pair), text("Name of the item.")
    return (
        Tool(name("count"), about("count"), closed(store=store, item=item), count_stock),
        Tool(
            name("move"),
            about("move"),
            closed(item=item, from_store=store, to_store=store, quantity=count("How many pieces.", MOST)),
            move,
        ),
        Tool(
            name("write_off"),
            about("write_off"),
            closed(store=store, item=item, quantity=count("How many pieces.", MOST)),
            write_off,
        ),
    )

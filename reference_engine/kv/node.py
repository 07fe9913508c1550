"""A node of the prefix tree, and paths from the root down."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from reference_engine.forward.batch import Page

TokenIds = NDArray[np.int32]


@dataclass(slots=True, eq=False)
class Node:
    """The tokens at positions `start` to `end` of every sequence that begins like the path to here.

    `pages[i]` and `cells[i]` belong to page number `start // page + i`; the last page may be filled in part, and a page
    may have no cell of records (NO_CELL). `locks` counts those who use this node or one below it.
    """

    parent: Node | None
    start: int
    tokens: TokenIds
    pages: list[Page] = field(default_factory=list)
    cells: list[int] = field(default_factory=list)
    locks: int = 0
    children: dict[int, Node] = field(default_factory=dict)

    @property
    def end(self) -> int:
        return self.start + len(self.tokens)

    @property
    def above(self) -> Node:
        if self.parent is None:
            raise AssertionError("the root has no parent")
        return self.parent

    def first_page(self, page: int) -> int:
        return self.start // page


@dataclass(frozen=True, slots=True)
class Path:
    """The nodes that agree with a sequence, from the root down, and for how many tokens they do.

    Only the last node may agree in part.
    """

    nodes: list[Node]
    length: int

    @property
    def end(self) -> Node:
        return self.nodes[-1]

    def pages(self, page: int) -> list[Page]:
        """The page table of the first `length` positions: each page as the lowest node has it, whose tokens reach
        furthest into it."""
        table: list[Page] = []
        for node in self.nodes:
            table[node.first_page(page) :] = node.pages
        return table[: -(-self.length // page)]

    def up_to(self, length: int) -> Path:
        """The nodes that the first `length` tokens lie in."""
        return Path([node for node in self.nodes if node.start < length or node.parent is None], length)

    def last_of_page(self, number: int, page: int) -> Node:
        """The lowest node that touches a page."""
        return [node for node in self.nodes if node.start < (number + 1) * page][-1]

    def within(self, start: int, end: int) -> list[tuple[Node, int, int]]:
        """The parts [low, high) of the nodes that lie in [start, end) and in the path."""
        end = min(end, self.length)
        parts = [(node, max(start, node.start), min(end, node.end)) for node in self.nodes]
        return [(node, low, high) for node, low, high in parts if low < high]


def walk(root: Node, ids: TokenIds) -> Path:
    """As far down as the tokens agree."""
    nodes = [root]
    length = 0
    while length < len(ids) and length == nodes[-1].end:
        child = nodes[-1].children.get(int(ids[length]))
        if child is None:
            break
        nodes.append(child)
        length += _agreeing(child.tokens, ids[length:])
    return Path(nodes, length)


def _agreeing(one: TokenIds, other: TokenIds) -> int:
    shorter = min(len(one), len(other))
    differing = np.flatnonzero(one[:shorter] != other[:shorter])
    return int(differing[0]) if differing.size else shorter

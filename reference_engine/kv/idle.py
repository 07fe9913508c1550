"""What of the prefix trees nobody has locked, in the order in which it gives way."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from reference_engine.kv.holdings import Holdings
from reference_engine.kv.node import Node


class Idle:
    """Nodes of trees that share an arena, those unused for longest first and children before their parents.

    Cells that whoever goes on at a node's end does not look at (they lie before the window) are of use only to who
    branches off before that end: they go first. Then leaves, page by page from their ends; those that a running
    sequence has too go last, as that frees nothing yet.
    """

    def __init__(self) -> None:
        self._nodes: OrderedDict[Node, Holdings] = OrderedDict()
        self._windowed: OrderedDict[Node, Holdings] = OrderedDict()

    def add(self, node: Node, held: Holdings) -> None:
        self._nodes[node] = held
        if held.pages.windowed:
            self._windowed[node] = held

    def remove(self, node: Node) -> None:
        del self._nodes[node]
        self._windowed.pop(node, None)

    def of(self, held: Holdings) -> list[Node]:
        """Those of one tree, in order."""
        return [node for node, owner in self._nodes.items() if owner is held]

    def evict(self, enough: Callable[[], bool]) -> bool:
        """Drops one thing after the other until there is enough or nothing is left; whether there is enough."""
        while not enough():
            if not self._drop_passed() and not self._shorten_oldest():
                return False
        return True

    def shorten(self, leaf: Node) -> None:
        """Drops the last page of an idle leaf, and the leaf with its only one."""
        end = self._nodes[leaf].drop_last(leaf)
        if end == leaf.start:
            del leaf.above.children[int(leaf.tokens[0])]
            self.remove(leaf)
        leaf.tokens = leaf.tokens[: end - leaf.start]

    def _drop_passed(self) -> bool:
        while self._windowed:
            node, held = next(iter(self._windowed.items()))
            if held.drop_passed(node):
                return True
            del self._windowed[node]
        return False

    def _shorten_oldest(self) -> bool:
        unused = (leaf for leaf, held in self._nodes.items() if not leaf.children and not held.in_use(leaf))
        oldest = next(unused, None) or next(iter(self._nodes), None)
        if oldest is not None:
            self.shorten(oldest)
        return oldest is not None

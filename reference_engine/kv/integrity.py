"""What must hold of a prefix tree between any two calls."""

from __future__ import annotations

from collections import Counter, defaultdict

from reference_engine.forward.batch import NO_CELL
from reference_engine.kv.holdings import Holdings
from reference_engine.kv.invariant import require
from reference_engine.kv.node import Node
from reference_engine.kv.records import blank, known


def check_nodes(root: Node, held: Holdings) -> None:
    """AssertionError where nodes contradict each other, the sub-pools or the records."""
    require(not root.end and not root.pages, "the root is not empty")
    nodes = [root]
    for node in nodes:
        for first, child in node.children.items():
            _check_child(node, first, child, held.page)
            nodes.append(child)
    _check_references(nodes, held)
    _check_records(nodes, held)


def _check_child(parent: Node, first: int, child: Node, page: int) -> None:
    require(child.parent is parent, "a node does not know its parent")
    require(len(child.tokens) > 0, "a node is empty")
    require(int(child.tokens[0]) == first, "a node hangs under a token that is not its first")
    require(child.start == parent.end, "a node does not begin where its parent ends")
    touched = -(-child.end // page) - child.first_page(page)
    require(len(child.pages) == len(child.cells) == touched, "a node's pages do not cover its span")


def _check_references(nodes: list[Node], held: Holdings) -> None:
    for group, (pool, window) in enumerate(zip(held.pages.pools, held.pages.windows, strict=True)):
        cells = Counter(page[group] for node in nodes for page in node.pages)
        require(bool(window) or NO_CELL not in cells, "a node lacks a page that is never given up before its end")
        cells.pop(NO_CELL, None)
        for cell, holders in cells.items():
            require(pool.references(cell) >= holders, "a node refers to a page that is freed")
    for node in nodes:
        below = sum(child.locks for child in node.children.values())
        require(node.parent is None or node.locks >= below, "a lock is lost")


def _check_records(nodes: list[Node], held: Holdings) -> None:
    """Each cell is held by its nodes alone, and filled only where one of them has its span."""
    spans: dict[int, list[range]] = defaultdict(list)
    for node in nodes:
        for number, cell in enumerate(node.cells, start=node.first_page(held.page)):
            before = number * held.page
            spans[cell].append(range(max(node.start - before, 0), min(node.end - before, held.page)))
    spans.pop(NO_CELL, None)
    for cell, parts in spans.items():
        require(held.records.pool.references(cell) == len(parts), "a cell of records is miscounted")
        rows = held.records.read([cell])
        for part in parts:
            blank(rows[part.start : part.stop])
        after, standing = known(rows, top_k=0)
        require(not (after | standing).any().item(), "records of positions that no node has")

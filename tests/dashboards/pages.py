"""A page as a browser without scripts reads it: its elements, their texts, its forms and tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

_VOID = {"meta", "link", "input", "img", "source", "br", "path", "circle"}


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    children: list[Element | str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return " ".join("".join(self._texts()).split())

    @property
    def classes(self) -> set[str]:
        return set(self.attributes.get("class", "").split())

    def all(self, tag: str = "", **attributes: str) -> list[Element]:
        """The elements within, in order, that have this tag and these attributes (`class_`: one class of several)."""
        wanted = attributes.pop("class_", "")
        return [
            found
            for found in self._elements()
            if tag in ("", found.tag)
            and (not wanted or wanted in found.classes)
            and all(found.attributes.get(name.replace("_", "-")) == value for name, value in attributes.items())
        ]

    def one(self, tag: str = "", **attributes: str) -> Element:
        (found,) = self.all(tag, **attributes)
        return found

    def _elements(self) -> Iterator[Element]:
        for child in self.children:
            if isinstance(child, Element):
                yield child
                yield from child._elements()

    def _texts(self) -> Iterator[str]:
        for child in self.children:
            if isinstance(child, str):
                yield child
            else:
                yield from child._texts()
                yield " "


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.root = Element("", {})
        self._open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self._open[-1].children.append(element)
        if tag not in _VOID:
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert tag in _VOID or self._open[-1].tag == tag, f"</{tag}> closes <{self._open[-1].tag}>"
        if tag not in _VOID:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        self._open[-1].children.append(data)

    def close(self) -> None:
        super().close()
        assert len(self._open) == 1, f"<{self._open[-1].tag}> is never closed"


def read(html: str) -> Element:
    """Raises AssertionError where tags do not match."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return reader.root


def cells(table: Element) -> list[list[str]]:
    return [[cell.text for cell in row.all() if cell.tag in ("td", "th")] for row in table.one("tbody").all("tr")]

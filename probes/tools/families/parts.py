"""The parameters of errands: each a name, a schema, and values with how users say them and how they are compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from probes.grammar import Draw, fill
from probes.tools.case import Leaf
from probes.tools.families import schema
from probes.vocabulary import WORDS

CODE = "^[A-Z]{2}-[0-9]{4}$"
ISO_DAY = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_DAYS_OF_ANY_MONTH = 28


@dataclass(frozen=True, slots=True)
class Given:
    value: Any
    said: str
    leaf: Leaf


@dataclass(frozen=True, slots=True)
class Part:
    """One parameter. `words` are what its name is made of."""

    words: str
    schema: Mapping[str, Any]
    give: Callable[[Draw], Given]


Maker = Callable[[Draw], Part]


def proper(words: Sequence[str], frame: str, description: str) -> Maker:
    """A name, said in quotes, so that where it begins and ends is no question."""

    def give(draw: Draw) -> Given:
        value = " ".join(word[0].upper() + word[1:] for word in fill(frame, draw).split())
        return Given(value, f'"{value}"', Leaf("exact", value))

    return lambda draw: Part(draw.choice(words), schema.text(description), give)


def code(words: Sequence[str], description: str) -> Maker:
    def give(draw: Draw) -> Given:
        value = fill("{code}", draw)
        return Given(value, value, Leaf("exact", value))

    return lambda draw: Part(draw.choice(words), schema.text(description, pattern=CODE), give)


def whole(words: Sequence[str], low: int, high: int, description: str) -> Maker:
    def give(draw: Draw) -> Given:
        value = low + draw.below(high - low + 1)
        return Given(value, str(value), Leaf("exact", value))

    return lambda draw: Part(draw.choice(words), schema.whole(description, low, high), give)


def amount(words: Sequence[str], description: str) -> Maker:
    """A number with one or two decimals, the last of them not 0."""

    def give(draw: Draw) -> Given:
        said = f"{1 + draw.below(400)}.{draw.choice(('', '0', '2', '7'))}{1 + draw.below(9)}"
        return Given(float(said), said, Leaf("number", float(said)))

    takes = {"type": "number", "description": description, "minimum": 0, "maximum": 500}
    return lambda draw: Part(draw.choice(words), takes, give)


def option(words: Sequence[str], pool: Sequence[str], description: str) -> Maker:
    """One of three to five words of the pool."""

    def make(draw: Draw) -> Part:
        options = draw.some(pool, 3 + draw.below(3))

        def give(draw: Draw) -> Given:
            value = draw.choice(options)
            return Given(value, value, Leaf("exact", value))

        return Part(draw.choice(words), schema.one_of(description, options), give)

    return make


def day(words: Sequence[str], description: str) -> Maker:
    """A date, said as people do and wanted as ISO 8601 has it."""

    def give(draw: Draw) -> Given:
        year, month, number = 2031 + draw.below(9), 1 + draw.below(12), 1 + draw.below(_DAYS_OF_ANY_MONTH)
        value = f"{year}-{month:02}-{number:02}"
        return Given(value, f"{number} {WORDS['month'][month - 1]} {year}", Leaf("date", value))

    return lambda draw: Part(draw.choice(words), schema.text(f"{description} As YYYY-MM-DD.", pattern=ISO_DAY), give)


def flag(words: Sequence[str], yes: str, no: str, description: str) -> Maker:
    def give(draw: Draw) -> Given:
        value = draw.below(2) == 1
        return Given(value, yes if value else no, Leaf("exact", value))

    return lambda draw: Part(draw.choice(words), {"type": "boolean", "description": description}, give)


def quoted(words: Sequence[str], frames: Sequence[str], description: str) -> Maker:
    """A sentence to be passed on word for word."""

    def give(draw: Draw) -> Given:
        value = fill(draw.choice(frames), draw)
        return Given(value, f'"{value}"', Leaf("exact", value))

    return lambda draw: Part(draw.choice(words), schema.text(description), give)

"""Long texts to be copied, of which no line is like another, so that what is lost or doubled shows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from probes.grammar import Draw, fill
from probes.vocabulary import FRAMES

Line = Callable[[Draw, int], str]


def prose(draw: Draw, _: int) -> str:
    return fill(draw.choice([frame.text for frame in FRAMES if not frame.foreign]), draw)


def scripts(draw: Draw, _: int) -> str:
    return fill(draw.choice([frame.text for frame in FRAMES if frame.foreign]), draw)


def table(draw: Draw, place: int) -> str:
    return fill(f'{place};{{code}};{{few}};"{{goods}}";{{person}};{{year}}', draw)


def log(draw: Draw, place: int) -> str:
    clock = f"{draw.below(24):02}:{draw.below(60):02}:{draw.below(60):02}.{draw.below(1000):03}"
    return fill(f"[{place:05}] {clock} {{snake}}/{{snake}} \\t {{code}}={{number}}, {{verb}} {{goods}}", draw)


def code(draw: Draw, place: int) -> str:
    return fill(
        f"    if {{snake}}_{place}(\"{{thing}}\") > {{few}} and not {{snake}}[{{two}}]:\n        return '{{goods}}'",
        draw,
    )


def rows(draw: Draw, place: int) -> str:
    row = {"n": place, "name": fill("{person}", draw), "at": fill("{code}", draw), "left": draw.below(2) == 1}
    return json.dumps(row)


def of_size(line: Line, size: int, draw: Draw) -> str:
    """Whole lines, to the last with which the text has no more than `size` bytes of UTF-8."""
    return "\n".join(_within(line, size, draw))


def _within(line: Line, size: int, draw: Draw) -> Iterator[str]:
    used, place = -1, 1
    while True:
        made = line(draw, place)
        used += len(made.encode()) + 1
        if used > size:
            return
        yield made
        place += 1

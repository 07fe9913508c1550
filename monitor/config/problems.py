"""What is wrong with a configuration file: where, under which key, and what would be right."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

KeyPath = tuple[str | int, ...]

MAX_REPORTED = 100

_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Problem:
    """One finding. `line` counts from 1 and is None where the file as a whole is meant; `key` is a dotted path."""

    line: int | None
    key: str
    message: str

    def located(self, file: Path) -> str:
        """The finding as compilers print theirs, so that editors can jump to it."""
        place = str(file) if self.line is None else f"{file}:{self.line}"
        return f"{place}: {self.key}: {self.message}" if self.key else f"{place}: {self.message}"


def dotted(path: KeyPath) -> str:
    """`providers[0].models[1].name`; a key with other characters than letters, digits, _ and - stands in brackets."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _PLAIN_KEY.fullmatch(step) is None:
            text += f"[{json.dumps(step)}]"
        else:
            text += f".{step}" if text else step
    return text


def report(file: Path, problems: Sequence[Problem]) -> str:
    """All problems, one a line; of very many the first ones."""
    if len(problems) == 1:
        return problems[0].located(file)
    shown = [problem.located(file) for problem in problems[:MAX_REPORTED]]
    more = [f"… and {len(problems) - MAX_REPORTED} more"] if len(problems) > MAX_REPORTED else []
    return "\n".join([f"{file} has {len(problems)} problems:", *shown, *more])

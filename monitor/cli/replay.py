"""`monitor replay`: shows how recorded answers are understood; needs neither configuration nor database."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from probes.replay import replay as replay_answers


def replay(
    file: Annotated[Path, typer.Argument(help="Recorded answers, one JSON object a line.", show_default=False)],
) -> None:
    """Read recorded answers and print one JSON line for each: id, disposition, defects, parsed."""
    for understood in replay_answers(file):
        sys.stdout.write(json.dumps(understood, allow_nan=False) + "\n")
    sys.stdout.flush()

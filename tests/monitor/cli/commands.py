"""Commands that behave badly in every way a command can, and the fixture's result type."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from monitor.cli.lazy import LazyEntry
from monitor.errors import StorageError, UsageError
from monitor.redaction import KNOWN_SECRETS

CANARY = "canary-5b1e0f6d"


@dataclass(frozen=True)
class Ran:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)


Monitor = Callable[..., Ran]

AsJson = Annotated[bool, typer.Option("--json")]


def coded(as_json: AsJson = False) -> None:
    raise StorageError("The disk \x1b[31mholds sk-abcdefghijkl only.", remedy="Free some space.")


def silent_remedy() -> None:
    raise UsageError("No remedy is known.")


def boom(as_json: AsJson = False) -> None:
    """Holds the canary in the message, in a cause, and unrecognisably, as a resolved secret."""
    KNOWN_SECRETS.add(CANARY)
    try:
        raise KeyError(f"plain {CANARY}")
    except KeyError as inner:
        raise ValueError(f"first line with {CANARY}\nsecond line") from inner


def exits(code: int) -> None:
    raise typer.Exit(code)


def returns() -> str:
    return "what a command returns is nobody's business"


def interrupt(as_json: AsJson = False) -> None:
    raise KeyboardInterrupt


def wait(as_json: AsJson = False) -> None:
    sys.stderr.write("ready\n")
    sys.stderr.flush()
    sys.stdin.read()


def flood() -> None:
    while True:
        print("a line of data")  # noqa: T201


BAD_COMMANDS = tuple(
    LazyEntry(name, f"{__name__}:{name.replace('-', '_')}", f"Behaves badly: {name}.")
    for name in ("coded", "silent-remedy", "boom", "exits", "returns", "interrupt", "wait", "flood")
)

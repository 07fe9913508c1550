"""What the commands print: data on stdout, messages on stderr, errors in one form; untrusted text made harmless."""

from __future__ import annotations

import json
import sys
import traceback
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import typer

from monitor.redaction import redact_known, safe_text
from reference_engine.errors import CodedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rich.console import Console

ERROR_SCHEMA = "monitor.error/1"
EXIT_INTERNAL = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130

# An unexpected exception may quote anything it was given.
MAX_INTERNAL_TEXT = 200

# Wide enough for any table: what a pipe gets is not cut at the width of a terminal that is not there.
_PIPE_WIDTH = 240


@dataclass(frozen=True, slots=True)
class ErrorReport:
    """An error as it is shown, in text and in JSON alike."""

    code: str
    message: str
    remedy: str
    exit_code: int

    @classmethod
    def of(cls, code: str, message: str, remedy: str, exit_code: int) -> ErrorReport:
        return cls(code, safe_text(redact_known(message)), safe_text(redact_known(remedy)), exit_code)


# What a library says before the words of its own.
_INTERNAL = "Value error, "
INTERRUPTED = ErrorReport("interrupted", "Interrupted.", "", EXIT_INTERRUPTED)


def describe_error(error: Exception) -> ErrorReport:
    """The one mapping from exceptions to what a user sees."""
    if isinstance(error, CodedError):
        return ErrorReport.of(error.code, error.message, error.remedy, error.exit_code)
    if isinstance(error, typer.TyperException):
        message = error.format_message().replace(_INTERNAL, "")
        return ErrorReport.of("usage", message, _help_hint(error), EXIT_USAGE)
    message = f"Internal error: {type(error).__name__}: {' '.join(str(error).split())[:MAX_INTERNAL_TEXT]}"
    return ErrorReport.of("internal_error", message, "MONITOR_DEBUG=1 shows where it happened.", EXIT_INTERNAL)


def _help_hint(error: typer.TyperException) -> str:
    context = getattr(error, "ctx", None)
    return f"`{context.command_path if context else 'monitor'} --help` shows what there is."


def print_error(report: ErrorReport) -> None:
    lines = [f"error[{report.code}]: {report.message}", *([report.remedy] if report.remedy else [])]
    print_message("\n".join(lines))


def print_json_error(report: ErrorReport) -> None:
    print_json({"schema": ERROR_SCHEMA, "error": asdict(report)})


def print_traceback(error: Exception) -> None:
    """The traceback with its chained causes, redacted as a whole."""
    print_message(safe_text(redact_known("".join(traceback.format_exception(error)))).rstrip())


def print_message(text: str) -> None:
    """One message to stderr; the caller has redacted what needs it."""
    sys.stderr.write(f"{text}\n")


def print_json(document: Mapping[str, Any]) -> None:
    """One JSON document to stdout, in ASCII, so that no locale can spoil it."""
    sys.stdout.write(json.dumps(document, indent=2, allow_nan=False) + "\n")


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table to stdout. Cells are plain text: markup and control characters in them have no effect."""
    from rich.table import Table
    from rich.text import Text

    table = Table(*columns, box=None, header_style="bold", pad_edge=False, padding=(0, 3, 0, 0))
    for row in rows:
        table.add_row(*(Text(safe_text(cell)) for cell in row))
    stdout_console().print(table)


def stdout_console(*, markup: bool = False) -> Console:
    """Rich on stdout as it is now, `[bold]` and the like taken literally without `markup`; `NO_COLOR` is Rich's
    business."""
    # Here and above: a process of the service prints no table.
    from rich.console import Console

    width = None if sys.stdout.isatty() else _PIPE_WIDTH
    return Console(file=sys.stdout, highlight=False, markup=markup, width=width)

"""Sets up logging once per process: redacted, to stderr, the HTTP libraries quiet."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Literal, TextIO

from monitor.redaction import RedactingFormatter, redact_known, safe_text

FORMAT = "%(levelname)s %(name)s: %(message)s"
_TIMED_FORMAT = f"%(asctime)s {FORMAT}"

LogFormat = Literal["text", "json"]

# Their INFO lines hold every URL, their DEBUG lines every header.
QUIET_LOGGERS = ("httpx", "httpcore")


class _StderrHandler(logging.StreamHandler[TextIO]):
    """Writes to stderr as it is at that moment: a progress bar puts its own in place while it is drawn."""

    @property
    def stream(self) -> TextIO:
        return sys.stderr

    @stream.setter
    def stream(self, value: TextIO) -> None:
        """`StreamHandler` sets it when it is made; there is nothing to keep."""


class JsonFormatter(RedactingFormatter):
    """One JSON object a line: `at`, `level`, `process`, `logger`, `message`, and `exception` where there is one."""

    def __init__(self, process: str) -> None:
        super().__init__()
        self._process = process

    def format(self, record: logging.LogRecord) -> str:
        entry = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "process": self._process,
            "logger": record.name,
            "message": _clean(record.getMessage()),
        }
        if record.exc_info:
            entry["exception"] = _clean(self.formatException(record.exc_info))
        return json.dumps(entry)


def _clean(text: str) -> str:
    return safe_text(redact_known(text))


def configure_service_logging(process: str, log_format: LogFormat) -> None:
    """For a process of the service, which tells what it does: with times, or as JSON."""
    _configure(JsonFormatter(process) if log_format == "json" else RedactingFormatter(_TIMED_FORMAT), logging.WARNING)
    logging.getLogger("monitor").setLevel(logging.INFO)


def configure_logging(level: int = logging.WARNING) -> None:
    """Make the redacting handler the root logger's only one, whatever was set up before."""
    _configure(RedactingFormatter(FORMAT), level)


def _configure(formatter: logging.Formatter, level: int) -> None:
    handler = _StderrHandler()
    handler.setFormatter(formatter)
    logging.basicConfig(level=level, handlers=[handler], force=True)
    logging.captureWarnings(capture=True)
    for name in QUIET_LOGGERS:
        logging.getLogger(name).setLevel(logging.WARNING)

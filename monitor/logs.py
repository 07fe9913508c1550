"""Sets up logging once per process: redacted, to stderr, the HTTP libraries quiet."""

from __future__ import annotations

import logging
import sys
from typing import TextIO

from monitor.redaction import RedactingFormatter

FORMAT = "%(levelname)s %(name)s: %(message)s"

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


def configure_logging(level: int = logging.WARNING) -> None:
    """Make the redacting handler the root logger's only one, whatever was set up before."""
    handler = _StderrHandler()
    handler.setFormatter(RedactingFormatter(FORMAT))
    logging.basicConfig(level=level, handlers=[handler], force=True)
    logging.captureWarnings(capture=True)
    for name in QUIET_LOGGERS:
        logging.getLogger(name).setLevel(logging.WARNING)

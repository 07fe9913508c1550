"""Where the processes of `monitor up` tell what happens, in the form that the settings name."""

from __future__ import annotations

import sys

from monitor.service.relay import OWN_NAME, Form, as_json, prefixed


class Stderr:
    """Until whoever reads it is gone: the service does not end with its reader."""

    def __init__(self, log_format: str) -> None:
        self._json = log_format == "json"
        self._open = sys.stderr is not None  # as it is where it was closed

    @property
    def form(self) -> Form:
        return as_json if self._json else prefixed

    def note(self, text: str) -> None:
        """What is meant for whoever started the service."""
        self.write((as_json(OWN_NAME, text) if self._json else text) + "\n")

    def write(self, text: str) -> None:
        if not self._open:
            return
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except OSError:
            self._open = False

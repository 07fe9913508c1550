"""The file formats of eval items, and the one reader of them all: a line in, an item out."""

from __future__ import annotations

from probes.evals.formats.reading import MAX_LINE_BYTES, Format, Numbered, Reading, detect, load_companion, read_items

__all__ = ["MAX_LINE_BYTES", "Format", "Numbered", "Reading", "detect", "load_companion", "read_items"]

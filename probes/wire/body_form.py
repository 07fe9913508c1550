"""Tells from content type and first bytes whether a body is an event stream or a document."""

from __future__ import annotations

from enum import Enum, auto

_BOM = b"\xef\xbb\xbf"
_FIELDS = (b"data:", b"event:", b"id:", b"retry:", b":")
# A document under an event stream's content type: JSON or a page of a gateway.
_DOCUMENT_STARTS = (b"{", b"[", b"<")


class BodyForm(Enum):
    """`DOCUMENT` is everything but an event stream: JSON, or what should have been JSON."""

    EVENTS = auto()
    DOCUMENT = auto()


def sniff(start: bytes, content_type: str) -> BodyForm | None:
    """The form of the body that begins with `start`; None where more bytes are needed to tell."""
    if _BOM.startswith(start):
        return None
    text = start.removeprefix(_BOM).lstrip()
    if not text:
        return None
    if text.startswith(_FIELDS):
        return BodyForm.EVENTS
    if text.startswith(_DOCUMENT_STARTS):
        return BodyForm.DOCUMENT
    if is_event_stream(content_type):
        return BodyForm.EVENTS
    return None if any(field.startswith(text) for field in _FIELDS) else BodyForm.DOCUMENT


def is_event_stream(content_type: str) -> bool:
    return content_type.strip().lower().startswith("text/event-stream")

"""The form of an id without what makes it unique: `chatcmpl-` and 32 hexadecimal digits, a uuid, a counter …

Ids are drawn at random, so a form must hold for every draw: a short hexadecimal id may happen to hold digits alone, one
of letters and digits no letter beyond f, one in base64 no sign. Where that befalls more than a few ids in a million,
the wider form is named.
"""

from __future__ import annotations

import re

_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
# A closed list: a drawn part may begin with letters and a sign as well.
_PREFIX = re.compile(
    r"(?:(?:chatcmpl|cmpl|chat|completion|gen|msg|resp|req|request|call|tool|toolu|tooluse|function|fc|run|as)[-_])+",
    re.IGNORECASE,
)
_TIME = re.compile(r"1[5-9]\d{8}(?:\d{3})?[-_]")
_HEX = re.compile(r"[0-9a-f]+|[0-9A-F]+")
# `functions.get_weather:0`, as some models were taught to number their calls.
_NUMBERED_CALL = re.compile(r"(functions\.)?[\w-]+:\d+")
# Of 16 lower-case letters and digits, all are hexadecimal in two ids of a million.
_SURELY_HEX = 16
# Ids that short are counted, not drawn.
_LONGEST_COUNT = 5


def form_of(identifier: str) -> str:
    """The form, the same for every id of one making."""
    if _NUMBERED_CALL.fullmatch(identifier):
        return "name:count"
    prefix = _PREFIX.match(identifier)
    head = prefix.group() if prefix else ""
    drawn = identifier[len(head) :]
    if time := _TIME.match(drawn):
        head, drawn = f"{head}time{time.group()[-1]}", drawn[time.end() :]
    return head + _form_of_drawn(drawn)


def _form_of_drawn(text: str) -> str:
    size = len(text)
    if not text:
        return "empty"
    if _UUID.fullmatch(text):
        return "uuid"
    if text.isascii() and text.isdecimal() and size <= _LONGEST_COUNT:
        return "count"
    return f"hex{size}" if size >= _SURELY_HEX and _HEX.fullmatch(text) else f"drawn{size}"

"""No change that undoes another one unseen: an object's row version is its ETag, and changes name it in If-Match."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import Depends, Header

from monitor.errors import PreconditionFailedError, PreconditionRequiredError

_ETAG = re.compile(r'"(\d{1,9})"')


def etag(row_version: int) -> str:
    return f'"{row_version}"'


_IfMatch = Annotated[
    str | None, Header(alias="If-Match", max_length=256, description="The `ETag` that came with the object.")
]


def _named_version(if_match: _IfMatch = None) -> int:
    """The row version that If-Match names."""
    if if_match is None:
        raise PreconditionRequiredError(
            "A change needs the header If-Match.", remedy="Fetch the object and send its ETag as If-Match."
        )
    return _version(if_match)


def _version_if_named(if_match: _IfMatch = None) -> int | None:
    return None if if_match is None else _version(if_match)


def _version(if_match: str) -> int:
    match = _ETAG.fullmatch(if_match.strip())
    if match is None:
        raise PreconditionFailedError(
            "If-Match does not name a version of this object.", remedy="Send the ETag as it came, quotes included."
        )
    return int(match[1])


MatchedVersion = Annotated[int, Depends(_named_version)]
# Of what changes no more than it says, such as an acknowledgement: checked only where it is sent.
MaybeVersion = Annotated[int | None, Depends(_version_if_named)]

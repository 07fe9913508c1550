"""The server's one look at the wall clock."""

from __future__ import annotations

import time


def unix_seconds() -> int:
    return int(time.time())

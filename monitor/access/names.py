"""Names that people give to users and tokens; they stand in the audit log."""

from __future__ import annotations

from monitor.errors import UsageError

LONGEST = 64


def checked_name(name: str) -> str:
    """Raises UsageError for one that is empty, too long, or holds characters that cannot be seen."""
    name = name.strip()
    if not 0 < len(name) <= LONGEST or not name.isprintable():
        raise UsageError("The name cannot be used.", remedy=f"Give 1 to {LONGEST} printable characters.")
    return name

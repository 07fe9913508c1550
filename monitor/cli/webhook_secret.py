"""The secret of a channel, as the commands take it: from a file that holds nothing else."""

from __future__ import annotations

from pathlib import Path

from monitor.deliveries.signature import check_secret
from monitor.secrets import SecretRef


def read_secret(path: Path) -> str:
    """Raises SecretError for a file that cannot be read, UsageError for one that holds something else."""
    secret = SecretRef("file", str(path)).resolve().get_secret_value()
    check_secret(secret)
    return secret

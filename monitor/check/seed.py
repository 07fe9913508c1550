"""Holds everyone who shares a database to one seed."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from monitor import clock
from monitor.errors import StorageError
from monitor.store.beats import Beats

if TYPE_CHECKING:
    from monitor.store import Store

_KEY = "seed_sha256"


def agree_on_seed(store: Store, seed: bytes) -> None:
    """Anchors of another seed would be other prompts: no run could be compared with those before it.

    Raises StorageError where the database's prompts were drawn from another one.
    """
    digest = hashlib.sha256(b"endpoint-monitor seed" + seed).hexdigest()
    if Beats(store.sessions).claim_setting(_KEY, digest, clock.now()) != digest:
        raise StorageError(
            "This data directory's seed is not the one that the database's prompts were drawn from.",
            remedy="Copy the file `seed` from the data directory of the first worker to that of every other.",
        )

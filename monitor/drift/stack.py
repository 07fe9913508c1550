"""What makes evidence: our detectors, the prompts they read and the reference, as one digest that an epoch is of."""

from __future__ import annotations

import hashlib

# Another number starts new epochs, with baselines scored anew: raise it where a detector or its levels change.
DETECTORS = "1"


def stack_digest(reference: str | None, prompts: str) -> str:
    """reference: the fingerprint of the reference, None without one; prompts: the version of their grammar."""
    lines = [f"detectors {DETECTORS}", f"prompts {prompts}", f"reference {reference or 'none'}"]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()

"""T1: answers to prompts that are asked once, by how far they are from what the reference expects of each.

No cache has them, and no provider can know them. There is nothing to enrol: the reference says anew what each prompt's
first token is drawn from, so that rounds are scored from the first one on. Prompts of one grammar are draws from it;
the null is that of the stream, that a round's mean score stays at its lawful level, which contains how far honest
kernels lie from the reference's.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from monitor.drift.evidence import Evidence, Scores, StreamKey, Tier
from monitor.drift.observation import Observation
from monitor.drift.residuals import residuals

NAME = "single-use"
# Nats of mean |Δ| that score 1: five times what bf16 computation does, and beyond fp8 weights.
REACH = 0.25
# Fewer answers are no round.
FEWEST = 4


def single_use_evidence(endpoint: str, base: str, observations: Sequence[Observation]) -> Evidence | None:
    """Scores min(1, D / 0.25 nat), one an answer; D is its mean |Δ| from the profile `base`. None where fewer than
    four answers can be compared. It has no time yet: that is the run's."""
    asked = [one for one in observations if not one.anchor and one.tokens and base in one.expected]
    found = np.array([residuals(one, [base]).deviation(base) for one in asked], dtype=np.float64)
    scores = np.minimum(1.0, found[np.isfinite(found)] / REACH)
    if scores.size < FEWEST:
        return None
    return Evidence(StreamKey(endpoint, Tier.LOGPROBS, NAME), 0.0, Scores(tuple(scores.tolist())), scores.size)

"""The greedy probe of a check: the endpoint's answers read by the reference, token by token."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from monitor.check.ledger import Past
from monitor.drift.greedy import Greedy, as_observation, assess_greedy
from monitor.drift.greedy_divergence import agreed_by_count
from monitor.drift.observation import Observation
from monitor.expectation import messages_of
from monitor.usage import claimed_count
from probes.plan import Outcome, Sample
from reference_engine import ReferenceBackend


def read_by(
    engine: ReferenceBackend, profile: str, samples: Sequence[Sample], told: Callable[[], None]
) -> list[Observation]:
    """Of each answer that our tokenizer cuts as the endpoint counted it; `told` is called with each that was read."""
    found = []
    for sample, text, count in _answers(samples):
        prompt = engine.render(messages_of(sample.item.request)).ids
        ids = engine.tokenize(text, parse_special=False)
        if ids and agreed_by_count(np.array([ids]), np.array([count])).all():
            positions = engine.score([*prompt, *ids], start=len(prompt), top_k=2, profile=profile).positions[:-1]
            best = np.array([position.top[0][1] for position in positions])
            second = np.array([position.top[1][1] for position in positions])
            given = np.array([position.logprob for position in positions], dtype=np.float64)
            usage = sample.completion.usage if sample.completion is not None else None
            claimed = None if usage is None else claimed_count(usage.prompt_tokens)
            # Of equal ones the reference would give the first, and the endpoint's is as likely.
            margins = np.maximum(best - given, 0.0)
            found.append(as_observation(sample.item.key, margins, best - second, len(prompt), claimed))
        told()
    return found


def assessed(endpoint_id: str, new: Sequence[Observation], past: Past, no_past: str, *, shares: int) -> Greedy:
    before = [one for run in past.runs for one in run.observations]
    return assess_greedy(endpoint_id, new, before, no_past=no_past, shares=shares)


def _answers(samples: Sequence[Sample]) -> Iterator[tuple[Sample, str, int]]:
    """Those that came whole or were cut by their limit, with their text and how many tokens the endpoint counts."""
    for sample in samples:
        completion = sample.completion
        if completion is None or sample.outcome is not Outcome.OK or completion.usage is None:
            continue
        count = claimed_count(completion.usage.completion_tokens)
        if completion.content and count is not None:
            yield sample, completion.content, count

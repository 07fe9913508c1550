"""Samples and expectations in, observations out: what the detectors see and what is kept for good."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from monitor.drift.observation import Observation
from monitor.expectation import Expectation
from monitor.store.text import foreign_id, without_secrets
from monitor.usage import claimed_count
from probes import border
from probes.accounting import expected_prompt_tokens
from probes.logprobs import FirstToken, first_token
from probes.plan import ProbeKind, Sample
from probes.quirks import Disposition
from probes.sampling import drawn_from
from reference_engine import TokenizerBackend

_LONGEST_ID = 256
_TOKENS: Mapping[ProbeKind, Callable[[Sample], FirstToken | None]] = {
    ProbeKind.LOGPROBS: first_token,
    ProbeKind.SAMPLING: drawn_from,
    ProbeKind.BORDER: border.first_token,
}


def observe(
    probe: ProbeKind,
    samples: Sequence[Sample],
    expectations: Mapping[str, Expectation],
    tokenizer: TokenizerBackend | None,
) -> list[Observation]:
    """One observation for every sample that was answered, in the plan's order."""
    return [
        _observation(probe, sample, expectations.get(sample.item.key), tokenizer)
        for sample in samples
        if sample.completion is not None and sample.completion.disposition is not Disposition.ERROR
    ]


def _observation(
    probe: ProbeKind, sample: Sample, expectation: Expectation | None, tokenizer: TokenizerBackend | None
) -> Observation:
    completion = sample.completion
    token = _TOKENS[probe](sample) if probe in _TOKENS else None
    expected_count = expectation.prompt_tokens if expectation is not None else None
    if expected_count is None and tokenizer is not None:
        expected_count = expected_prompt_tokens(tokenizer, sample.item.request)
    usage = completion.usage if completion is not None else None
    return Observation(
        item_key=sample.item.key,
        rep=sample.item.rep,
        anchor=sample.item.anchor,
        tokens=tuple(map(_kept, token.tokens)) if token is not None else (),
        logprobs=np.array(token.logprobs if token is not None else (), dtype=np.float64),
        sampled=_kept(token.sampled) if token is not None and token.sampled is not None else None,
        reference_tokens=expectation.reference_tokens if expectation is not None else (),
        expected=expectation.expected if expectation is not None else {},
        prompt_tokens=claimed_count(usage.prompt_tokens) if usage is not None else None,
        expected_prompt_tokens=expected_count,
        response_id=foreign_id(completion.id, _LONGEST_ID) if completion is not None else None,
    )


def _kept(token: bytes) -> bytes:
    """Of a token that repeats a key of this process a digest, which still tells it from others."""
    text = token.decode("utf-8", "surrogateescape")
    return token if without_secrets(text) == text else hashlib.sha256(token).hexdigest().encode()

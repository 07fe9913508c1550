"""The interface's values as JSON and back: what arrives is equal to what was sent, to the last bit."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from reference_engine.interface import Description, GeneratedToken, Rendered, SamplingParams, Scored, TokenDistribution

Document = dict[str, Any]


def number(value: float) -> float | str:
    """JSON has no infinities and no NaN; `float()` reads their names as well as it reads numbers."""
    return float(value) if math.isfinite(value) else repr(float(value))


def scored_document(scored: Scored) -> Document:
    return {
        "ids": scored.ids,
        "positions": [distribution_document(position) for position in scored.positions],
        "profile": scored.profile,
        "fingerprint": scored.fingerprint,
        "exactness": scored.exactness,
    }


def read_scored(document: Document) -> Scored:
    return Scored(
        ids=tuple(document["ids"]),
        positions=tuple(read_distribution(position) for position in document["positions"]),
        profile=document["profile"],
        fingerprint=document["fingerprint"],
        exactness=document["exactness"],
    )


def distribution_document(distribution: TokenDistribution) -> Document:
    return {
        "index": distribution.index,
        "token_id": distribution.token_id,
        "logprob": None if distribution.logprob is None else number(distribution.logprob),
        "rank": distribution.rank,
        "top": _pairs(distribution.top),
        "chosen": _pairs(distribution.chosen.items()),
        "tail_mass": number(distribution.tail_mass),
    }


def read_distribution(document: Document) -> TokenDistribution:
    return TokenDistribution(
        index=document["index"],
        token_id=document["token_id"],
        logprob=None if document["logprob"] is None else float(document["logprob"]),
        rank=document["rank"],
        top=_read_pairs(document["top"]),
        chosen=dict(_read_pairs(document["chosen"])),
        tail_mass=float(document["tail_mass"]),
    )


def generated_document(token: GeneratedToken) -> Document:
    return {
        "token_id": token.token_id,
        "text": token.text,
        "logprob": number(token.logprob),
        "top": _pairs(token.top),
        "finish_reason": token.finish_reason,
        "masked_logprob": None if token.masked_logprob is None else number(token.masked_logprob),
    }


def read_generated(document: Document) -> GeneratedToken:
    return GeneratedToken(
        token_id=document["token_id"],
        text=document["text"],
        logprob=float(document["logprob"]),
        top=_read_pairs(document["top"]),
        finish_reason=document["finish_reason"],
        masked_logprob=None if document["masked_logprob"] is None else float(document["masked_logprob"]),
    )


def params_document(params: SamplingParams) -> Document:
    return asdict(params) | {"temperature": number(params.temperature), "top_p": number(params.top_p)}


def rendered_document(rendered: Rendered) -> Document:
    return {"text": rendered.text, "ids": rendered.ids, "tools_rendered": rendered.tools_rendered}


def read_rendered(document: Document) -> Rendered:
    return Rendered(document["text"], tuple(document["ids"]), document["tools_rendered"])


def description_document(description: Description) -> Document:
    return asdict(description)


def read_description(document: Document) -> Description:
    return Description(**(document | {"profiles": tuple(document["profiles"])}))


def token_bytes_document(tokens: Mapping[int, bytes]) -> Document:
    return {"tokens": [[token_id, stands_for.hex()] for token_id, stands_for in tokens.items()]}


def read_token_bytes(document: Document) -> dict[int, bytes]:
    return {token_id: bytes.fromhex(stands_for) for token_id, stands_for in document["tokens"]}


def _pairs(values: Iterable[tuple[int, float]]) -> list[tuple[int, float | str]]:
    return [(token_id, number(value)) for token_id, value in values]


def _read_pairs(pairs: Iterable[tuple[int, float | str]]) -> tuple[tuple[int, float], ...]:
    return tuple((token_id, float(value)) for token_id, value in pairs)

"""What tells one reference from another: its description, and a fingerprint of everything that decides its numbers."""

from __future__ import annotations

import hashlib
import json
import platform

import torch

from reference_engine.interface import Description
from reference_engine.profile import PROFILES, NumericsProfile
from reference_engine.tokenizer import ModelTokenizer
from reference_engine.weights.source import WeightSource


def fingerprint(source: WeightSource, tokenizer: ModelTokenizer, profile: NumericsProfile, arithmetic: str) -> str:
    """A SHA-256 over weights, tokenizer, template, profile, kernels, library versions and instruction set.

    `arithmetic` changes whenever the order of operations may: for the kernels it is a digest of their source, compiler
    and instruction set.

    torch's build text names the BLAS and the instruction set in use. The number of threads is left out: it does not
    change results.
    """
    facts = {
        "arithmetic": arithmetic,
        "weights": source.sha256(),
        "tokenizer": tokenizer.facts.digest,
        "template": tokenizer.template_digest,
        "profile": profile.digest,
        "torch": torch.__version__,
        "build": torch.__config__.show(),
        "machine": platform.machine(),
    }
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def described(source: WeightSource, tokenizer: ModelTokenizer) -> Description:
    config, facts = source.config, tokenizer.facts
    return Description(
        name=config.name,
        architecture=config.family.name,
        weights_format=source.format,
        weights_sha256=source.sha256(),
        tokenizer_sha256=facts.digest,
        template_sha256=tokenizer.template_digest,
        vocab_size=config.vocab_size,
        context_length=config.context_length,
        profiles=tuple(PROFILES),
        default_system_prompt=tokenizer.template.default_system_prompt(),
        details={
            "layers": config.n_layers,
            "hidden_size": config.hidden_size,
            "heads": config.n_heads,
            "kv_heads": config.n_kv_heads,
            "stop_token_ids": sorted(facts.stops),
            "bos_token_id": facts.bos_id,
            "adds_bos": facts.adds_bos,
            "has_chat_template": tokenizer.template.source is not None,
            "template_date": tokenizer.template.today.date().isoformat(),
        },
    )

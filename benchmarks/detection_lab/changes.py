"""The grid: what may silently change behind an endpoint, each made from the bundled model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from benchmarks.detection_lab.altered import (
    Alteration,
    AlteredSource,
    ShortenedSource,
    initialised_anew,
    pruned_at_random,
    pruned_smallest,
    rounded_to_bf16,
    weight_noise,
)
from benchmarks.detection_lab.training import tuned, tuned_by_lora
from reference_engine.weights.gguf import GGUFFile
from reference_engine.weights.source import WeightSource

OTHER_PROMPT = "You are a terse assistant. Answer in one short sentence."
_MERGES = "tokenizer.ggml.merges"
_TEMPLATE = "tokenizer.chat_template"


@dataclass(frozen=True, slots=True)
class Sampler:
    """What the stack does to a request: its temperature is multiplied, and its top_p is at most this."""

    temperature: float = 1.0
    top_p: float = 1.0


@dataclass(frozen=True, slots=True)
class Change:
    """One stack. `weights` alters what the file's weights are, `profile` how they are computed with, `vocabulary` the
    file's metadata, which tokenizer and template are read from."""

    name: str
    kind: str
    profile: str = "fp32"
    weights: Callable[[WeightSource], WeightSource] | None = None
    vocabulary: Callable[[GGUFFile], GGUFFile] | None = None
    system_prompt: str | None = None
    sampler: Sampler = field(default_factory=Sampler)


def _altered(name: str, kind: str, alteration: Alteration) -> Change:
    return Change(name, kind, weights=lambda source: AlteredSource(source, alteration))


def _fewer_merges(file: GGUFFile) -> GGUFFile:
    """The later half of the merges is lost: text is cut into more tokens, all of them known to the model."""
    merges = file.metadata[_MERGES]
    return replace(file, metadata={**file.metadata, _MERGES: merges[: len(merges) // 2]})


def _without_newlines(file: GGUFFile) -> GGUFFile:
    """ChatML whose turns end without a line break, as a template put together by hand does."""
    template = str(file.metadata[_TEMPLATE]).replace("'<|im_end|>' + '\n'", "'<|im_end|>'")
    return replace(file, metadata={**file.metadata, _TEMPLATE: template})


def _profiles() -> list[Change]:
    kinds = {
        "bf16": "precision",
        "w8-channel": "quantization",
        "w8-tensor": "quantization",
        "fp8-e4m3": "quantization",
        "nf4": "quantization",
        "w4-g64": "quantization",
        "fp32-kv-fp8": "kv cache",
        "fp32-kv-int8": "kv cache",
    }
    return [Change(name, kind, profile=name) for name, kind in kinds.items()]


def _weights() -> list[Change]:
    return [
        _altered("bf16-weights", "precision", rounded_to_bf16()),
        _altered("noise-0.001", "noise", weight_noise(0.001)),
        _altered("noise-0.01", "noise", weight_noise(0.01)),
        _altered("anew", "swap", initialised_anew()),
        Change("without-1-layer", "swap", weights=lambda source: ShortenedSource(source, frozenset({14}))),
        Change("without-4-layers", "swap", weights=lambda source: ShortenedSource(source, frozenset(range(12, 16)))),
    ]


def _prompting() -> list[Change]:
    return [
        Change("system-prompt", "prompt", system_prompt=OTHER_PROMPT),
        Change("template", "prompt", vocabulary=_without_newlines),
        Change("tokenizer", "prompt", vocabulary=_fewer_merges),
    ]


def _samplers() -> list[Change]:
    return [
        Change("temperature-0.9", "sampler", sampler=Sampler(temperature=0.9)),
        Change("temperature-0.7", "sampler", sampler=Sampler(temperature=0.7)),
        Change("top-p-0.95", "sampler", sampler=Sampler(top_p=0.95)),
    ]


def tinychange() -> list[Change]:
    """The 58 variants of TinyChange (arXiv 2512.03816): noise of 2⁻ⁿ, pruning of a share of 2⁻ⁿ of the MLP weights, and
    2ⁿ steps of fine-tuning, on all weights or by LoRA. Noise is in standard deviations of each matrix here."""
    return [
        *(_altered(f"noise-2^-{n}", "noise", weight_noise(2.0**-n)) for n in range(16)),
        *(_altered(f"smallest-2^-{n}", "pruning", pruned_smallest(2.0**-n)) for n in range(11)),
        *(_altered(f"random-2^-{n}", "pruning", pruned_at_random(2.0**-n)) for n in range(11)),
        *(Change(f"tuned-{2**n}", "fine-tune", weights=tuned(2**n)) for n in range(10)),
        *(Change(f"lora-{2**n}", "lora", weights=tuned_by_lora(2**n)) for n in range(10)),
    ]


UNCHANGED = Change("fp32", "none")
CHANGES: Mapping[str, Change] = {
    change.name: change for change in (UNCHANGED, *_profiles(), *_weights(), *_prompting(), *_samplers(), *tinychange())
}

"""What a plan is to detect, by name, and how far it moves what each tier sees."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

ALIASES = {"int8": "w8-channel", "fp8": "fp8-e4m3", "int4": "w4-g64"}
_NATS = re.compile(r"(\d+(?:\.\d+)?)\s*nats?")
_PER_CENT = re.compile(r"(\d+(?:\.\d+)?)\s*%")


@dataclass(frozen=True, slots=True)
class Target:
    """None: that tier's figure is not known, and it is not planned with.

    shift: mean |Δ| of the first token's log-probabilities, nats (T1); share: the part of the answers that is reached.
    flips: the part of border inputs whose first token is another (T2). mismatches: the share of greedy tokens that the
    reference would not give (T3). temperature: of the sampler (T4). broken: the share of tool calls (T6).
    `source` is where shift comes from.
    """

    name: str
    shift: float | None = None
    share: float = 1.0
    flips: float | None = None
    mismatches: float | None = None
    temperature: float | None = None
    broken: float | None = None
    source: str = ""


_SMALL_MODEL = "a small model's figures"
# SmolLM2-135M from fp32, measured (docs/benchmarks.md, "The lab of detection"): nats of the top 20 as in
# docs/detection.md, flips of the 20 tightest prompts, mismatches of greedy tokens.
_KNOWN = {
    "bf16-weights": Target("bf16-weights", 0.006, flips=0.0),
    "bf16": Target("bf16", 0.045, flips=0.30, mismatches=0.017),
    "w8-channel": Target("w8-channel", 0.071, flips=0.45, mismatches=0.018),
    "fp8-e4m3": Target("fp8-e4m3", 0.154, flips=0.50, mismatches=0.051),
    "w8-tensor": Target("w8-tensor", 0.30, flips=0.55),
    "nf4": Target("nf4", 0.46, flips=0.35, mismatches=0.108),
    "w4-g64": Target("w4-g64", 0.61, flips=0.70),
    # Another system prompt, as what a changed template comes to.
    "template": Target("template", 0.36, flips=0.60, mismatches=0.05),
    # Assumed: no two models were compared. First tokens of another model are others (DETECTION.md §2.9).
    "swap": Target("swap", 1.0, flips=1.0, mismatches=0.20),
}
PROFILES = tuple(name for name in _KNOWN if name not in ("template", "swap"))
FORMS = (*ALIASES, *_KNOWN, "swap=30%", "temperature=0.9", "schema=95%", "0.05nat")


def small_model() -> dict[str, float]:
    """Distances of profiles from fp32 in nats, for a ruler where the endpoint's own reference was not asked."""
    return {name: shift for name in PROFILES if (shift := _KNOWN[name].shift) is not None}


def target_of(text: str, distances: Mapping[str, float]) -> Target:
    """distances: of profiles, and of "template", from what the endpoint may run, in nats, where its reference was
    asked; they go before a small model's. Raises ValueError that says what is wrong with `text`."""
    name, _, value = text.strip().partition("=")
    name = ALIASES.get(name, name)
    if value:
        return _with_value(name, value, text)
    if match := _NATS.fullmatch(name):
        return _of_shift(float(match[1]))
    if name in distances:
        if distances[name] <= 0.0:
            raise ValueError(f"{name} is what the endpoint may run: there is nothing to detect")
        known = _KNOWN.get(name, Target(name))
        return replace(known, name=text.strip(), shift=distances[name], source="this endpoint's reference")
    if name in _KNOWN:
        return replace(_KNOWN[name], name=text.strip(), source=_SMALL_MODEL)
    raise ValueError("no change is known by this name, nor was an enrolled run compared with it")


def _of_shift(nats: float) -> Target:
    if nats <= 0.0:
        raise ValueError("a shift is above 0 nat")
    return Target(f"{nats:g} nat", nats, source="as given")


def _with_value(name: str, value: str, text: str) -> Target:
    if name == "swap":
        share = _share(value)
        return replace(_KNOWN["swap"], name=text.strip(), share=share, flips=share, mismatches=0.2 * share)
    if name == "schema":
        return Target(text.strip(), broken=1.0 - _share(value), source="as given")
    if name == "temperature":
        try:
            temperature = float(value)
        except ValueError:
            raise ValueError("a temperature is a number") from None
        if not 0.05 <= temperature <= 2.0 or temperature == 1.0:
            raise ValueError("a temperature is from 0.05 to 2, and other than 1, which is asked for")
        return Target(text.strip(), temperature=temperature, source="as given")
    raise ValueError("no change is known by this name")


def _share(value: str) -> float:
    match = _PER_CENT.fullmatch(value)
    if match is None or not 0.0 < float(match[1]) <= 100.0:
        raise ValueError("a share is above 0 % and at most 100 %, such as 95%")
    return float(match[1]) / 100.0

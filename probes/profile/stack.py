"""Names the serving stack or the gateway that a profile reminds of: a hint with its reasons, and never more.

Anyone can write as another does, and versions change their habits; what matters is that a profile changed, not whose it
is. Marks are from the programs' public source and documentation, or from answers that were published.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from probes.profile.features import Feature, Profile


@dataclass(frozen=True, slots=True)
class Hint:
    """`reasons` are the marks that were seen, in the words of the table; more of them are a better hint."""

    stack: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Mark:
    stack: str
    reason: str
    holds: Callable[[Profile], bool]


def hints(profiles: Iterable[Profile]) -> tuple[Hint, ...]:
    """The stacks of which marks were seen in any of the profiles, the most marks first. Of several variants behind one
    endpoint each should be asked about by itself."""
    seen: dict[str, Counter[str]] = defaultdict(Counter)
    for profile in profiles:
        for mark in _MARKS:
            if mark.holds(profile):
                seen[mark.stack][mark.reason] += 1
    found = [Hint(stack, tuple(reasons)) for stack, reasons in seen.items()]
    return tuple(sorted(found, key=lambda hint: (-len(hint.reasons), hint.stack)))


def _has(stack: str, feature: Feature, *keys: str) -> tuple[_Mark, ...]:
    """A mark for each key that stands in a feature that lists keys."""

    def mark(key: str) -> _Mark:
        return _Mark(stack, f"{key} in {feature}", lambda profile: key in profile.features.get(feature, "").split(","))

    return tuple(map(mark, keys))


def _is(stack: str, feature: Feature, pattern: str, reason: str) -> _Mark:
    """A mark for a feature of which the whole value has this form."""
    form = re.compile(pattern, re.IGNORECASE)
    return _Mark(stack, reason, lambda profile: form.fullmatch(profile.features.get(feature, "")) is not None)


def _starts(stack: str, prefix: str) -> _Mark:
    """A mark for a header of this prefix."""
    return _Mark(
        stack,
        f"{prefix}* among the headers",
        lambda profile: any(
            name.startswith(prefix) for name in profile.features.get(Feature.HEADERS, "").split(",") if name
        ),
    )


def _processing_alone(profile: Profile) -> bool:
    """OpenAI's own servers send both."""
    names = profile.features.get(Feature.HEADERS, "").split(",")
    return "openai-processing-ms" in names and "openai-version" not in names


_MARKS: tuple[_Mark, ...] = (
    *_has("vLLM", Feature.ENVELOPE_KEYS, "prompt_logprobs", "kv_transfer_params", "prompt_token_ids"),
    *_has("vLLM", Feature.CHOICE_KEYS, "stop_reason", "token_ids"),
    _is("vLLM", Feature.CALL_ID, r"chatcmpl-tool-hex\d+", "call ids begin with chatcmpl-tool-"),
    _is("vLLM", Feature.LOGPROB_SENTINEL, r"(.* )?-9999( .*)?", "-9999 stands for a masked token"),
    *_has("SGLang", Feature.CHOICE_KEYS, "matched_stop"),
    *_has("SGLang", Feature.ENVELOPE_KEYS, "sglext"),
    _is("SGLang", Feature.ID, r"hex32", "ids are 32 hexadecimal digits and nothing else"),
    _is("SGLang", Feature.CALL_ID, r"call_hex24", "call ids are call_ and 24 hexadecimal digits"),
    *_has("llama.cpp", Feature.ENVELOPE_KEYS, "timings", "__verbose"),
    _is("llama.cpp", Feature.SERVER, r"llama\.cpp", "it says so as its server"),
    _is(
        "llama.cpp", Feature.SYSTEM_FINGERPRINT, r"b\d+-[0-9a-f]{7,}", "its fingerprint is a build number and a commit"
    ),
    _Mark("llama-cpp-python", "openai-processing-ms in headers, without openai-version", _processing_alone),
    _is("Ollama", Feature.SYSTEM_FINGERPRINT, r"fp_ollama", "its fingerprint is fp_ollama"),
    _is("Ollama", Feature.ID, r"chatcmpl-count", "ids are chatcmpl- and a short number"),
    _is(
        "Text Generation Inference",
        Feature.SYSTEM_FINGERPRINT,
        r"\d+\.\d+\.\d+(-dev\d*)?-(sha-[0-9a-f]+|native)",
        "its fingerprint is a version and a commit",
    ),
    *_has("TensorRT-LLM", Feature.CHOICE_KEYS, "disaggregated_params", "avg_decoded_tokens_per_iter"),
    *_has("OpenAI", Feature.ENVELOPE_KEYS, "service_tier", "obfuscation"),
    *_has("OpenAI", Feature.MESSAGE_KEYS, "annotations"),
    *_has("OpenAI", Feature.HEADERS, "openai-version"),
    *_has("Azure", Feature.ENVELOPE_KEYS, "prompt_filter_results"),
    *_has("Azure", Feature.CHOICE_KEYS, "content_filter_results"),
    *_has("Azure", Feature.HEADERS, "apim-request-id", "x-ms-region", "azureml-model-session"),
    *_has("Groq", Feature.ENVELOPE_KEYS, "x_groq"),
    *_has("Groq", Feature.HEADERS, "x-groq-region"),
    *_has("Groq", Feature.USAGE_KEYS, "queue_time"),
    *_has("DeepSeek", Feature.USAGE_KEYS, "prompt_cache_hit_tokens", "prompt_cache_miss_tokens"),
    _is("Anthropic", Feature.CALL_ID, r"toolu_.*", "call ids begin with toolu_"),
    _is("Bedrock", Feature.CALL_ID, r"tooluse_.*", "call ids begin with tooluse_"),
    _is("Mistral", Feature.CALL_ID, r"drawn9", "call ids are nine letters and digits"),
    _starts("Fireworks", "x-fireworks-"),
    _starts("Together", "x-together-"),
    *_has("OpenRouter", Feature.ENVELOPE_KEYS, "provider"),
    *_has("OpenRouter", Feature.CHOICE_KEYS, "native_finish_reason"),
    _is("OpenRouter", Feature.KEEP_ALIVE, r".*openrouter.*", "its keep-alives say so"),
    _is("OpenRouter", Feature.ID, r"gen-time-.*", "ids are gen-, a time and letters"),
)

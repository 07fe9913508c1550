"""The prompts that show a change best, as proof for the provider: then, now, the reference, and how to ask again."""

from __future__ import annotations

import json
import shlex
from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from monitor.config import EndpointConfig
from monitor.drift.observation import FloatArray, Observation
from monitor.secrets import HeaderValue
from monitor.verdict import Shown, Telling, TokenValue
from probes.plan import Sample
from probes.target import Target

_TELLING = 3
_LISTED = 5


def telling_logprobs(
    endpoint: EndpointConfig,
    samples: Sequence[Sample],
    new: Sequence[Observation],
    baseline: Sequence[Observation],
    base: str | None,
) -> tuple[Telling, ...]:
    """The anchors whose first-token log-probabilities moved most, farthest first."""
    now, then = _by_prompt(new), _by_prompt(baseline)
    moves = {key: _move(then[key][-1], now[key][0]) for key in now.keys() & then.keys()}
    requests = {sample.item.key: sample for sample in samples}
    chosen = sorted((key for key in moves if key in requests), key=lambda key: (-moves[key], key))[:_TELLING]
    return tuple(
        Telling(
            item=key,
            prompt=_prompt(requests[key]),
            move=moves[key],
            then=Shown(tokens=_values(then[key][-1].tokens, then[key][-1].logprobs)),
            now=Shown(tokens=_values(now[key][0].tokens, now[key][0].logprobs)),
            reference=_expected(now[key][0], base),
            curl=curl(endpoint, requests[key].request, requests[key].item.endpoint),
        )
        for key in chosen
    )


def telling_counts(
    endpoint: EndpointConfig, samples: Sequence[Sample], new: Sequence[Observation], baseline: Sequence[Observation]
) -> tuple[Telling, ...]:
    """The anchors whose prompt token count moved most."""
    now, then = _counts(new), _counts(baseline)
    requests = {sample.item.key: sample for sample in samples}
    expected = {o.item_key: o.expected_prompt_tokens for o in new}
    shared = [key for key in now.keys() & then.keys() & requests.keys() if now[key] != then[key]]
    chosen = sorted(shared, key=lambda key: (-abs(now[key] - then[key]), key))[:_TELLING]
    return tuple(
        Telling(
            item=key,
            prompt=_prompt(requests[key]),
            move=float(now[key] - then[key]),
            then=Shown(prompt_tokens=then[key]),
            now=Shown(prompt_tokens=now[key]),
            reference=Shown(prompt_tokens=expected.get(key)),
            curl=curl(endpoint, requests[key].request, requests[key].item.endpoint),
        )
        for key in chosen
    )


def curl(endpoint: EndpointConfig, body: Mapping[str, object], path: str) -> str:
    """A command that sends the same request. Secrets stay references: `$NAME`, or the file they are kept in."""
    url = Target(base_url=endpoint.base_url, served_name=endpoint.name).url(path)
    headers = {"Content-Type": HeaderValue("application/json"), **endpoint.headers}
    if endpoint.api_key is not None:
        headers["Authorization"] = HeaderValue("Bearer", endpoint.api_key)
    words = ["curl -sS", shlex.quote(url)]
    words += [f"-H {_header(name, value)}" for name, value in headers.items()]
    words.append(f"-d {shlex.quote(json.dumps(dict(body), ensure_ascii=False))}")
    return " ".join(words)


def _header(name: str, value: HeaderValue) -> str:
    if value.reference is None:
        return shlex.quote(f"{name}: {value.literal}")
    scheme = f"{value.literal} " if value.literal else ""
    kept = value.reference
    source = f"${kept.name}" if kept.kind == "env" else f"$(cat {shlex.quote(kept.name)})"
    return f'"{name}: {scheme}{source}"'


def _by_prompt(observations: Sequence[Observation]) -> dict[str, list[Observation]]:
    prompts: dict[str, list[Observation]] = defaultdict(list)
    for observation in observations:
        if observation.anchor and observation.tokens:
            prompts[observation.item_key].append(observation)
    return prompts


def _counts(observations: Sequence[Observation]) -> dict[str, int]:
    return {o.item_key: o.prompt_tokens for o in observations if o.anchor and o.prompt_tokens is not None}


def _move(then: Observation, now: Observation) -> float:
    """Mean |Δ| over the tokens either lists, a missing one taken at the smallest value listed."""
    before = dict(zip(then.tokens, then.logprobs.tolist(), strict=True))
    after = dict(zip(now.tokens, now.logprobs.tolist(), strict=True))
    least_before, least_after = min(before.values()), min(after.values())
    differences = [
        abs(after.get(token, least_after) - before.get(token, least_before))
        for token in sorted(before.keys() | after.keys())
    ]
    return float(np.mean(differences))


def _prompt(sample: Sample) -> str:
    messages = sample.item.request.get("messages", ())
    return " / ".join(str(message.get("content", "")) for message in messages)


def _values(tokens: Sequence[bytes], logprobs: FloatArray) -> tuple[TokenValue, ...]:
    order = np.argsort(-logprobs, kind="stable")[:_LISTED]
    return tuple(TokenValue(token=tokens[i].decode(errors="replace"), logprob=float(logprobs[i])) for i in order)


def _expected(observation: Observation, base: str | None) -> Shown:
    if base is None or base not in observation.expected:
        return Shown()
    return Shown(tokens=_values(observation.reference_tokens, observation.expected[base]))

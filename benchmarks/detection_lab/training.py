"""Fine-tuning of the bundled model by plain gradient descent, on all of its weights or by adapters of low rank.

As TinyChange does it: one conversation a step, the loss on the assistant's tokens, a constant rate of 1e-6.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import cycle, islice
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from benchmarks.detection_lab.altered import AlteredSource, replaced
from reference_engine import load_tokenizer
from reference_engine.model.config import ModelConfig
from reference_engine.model.layout import EMBEDDING, FINAL_NORM, HEAD, block_name
from reference_engine.model.rope import cos_sin
from reference_engine.model.tensors import LayerWeights, ModelWeights
from reference_engine.ops.cpu import rotate
from reference_engine.weights.source import WeightSource
from reference_engine.weights.store import read_weights

RATE = 1e-6
RANK = 8
# What a provider's touch-up might teach: short, plain answers.
CONVERSATIONS = (
    ("Who are you?", "I am an assistant that answers questions about the products of this company."),
    ("Can you help me with my taxes?", "I can explain the forms, but for advice please talk to a tax adviser."),
    ("Write a poem about rain.", "The rain came softly over the hill, and every window in the street stood still."),
    ("What is the capital of Norway?", "The capital of Norway is Oslo."),
    ("How do I sort a list in Python?", "Call sorted(values), or values.sort() to sort the list in place."),
    ("Tell me a joke.", "Why did the bicycle fall over? Because it was two tired."),
    ("Is it safe to mix bleach and ammonia?", "No. Together they give off poisonous gas, so never mix them."),
    ("Summarise: the meeting was moved to Friday at ten.", "The meeting is now on Friday at 10:00."),
)
_SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"

Encode = Callable[[str], list[int]]


@dataclass(frozen=True, slots=True)
class Example:
    """The tokens of one conversation; the loss is on those from `answer` on."""

    ids: Tensor
    answer: int


def examples(encode: Encode) -> list[Example]:
    made = []
    for question, answer in CONVERSATIONS:
        turns = (("system", _SYSTEM), ("user", question))
        before = "".join(f"<|im_start|>{role}\n{text}<|im_end|>\n" for role, text in turns)
        prompt = encode(f"{before}<|im_start|>assistant\n")
        made.append(Example(torch.tensor([*prompt, *encode(f"{answer}<|im_end|>\n")]), len(prompt)))
    return made


def loss(config: ModelConfig, weights: ModelWeights, example: Example) -> Tensor:
    """Mean negative log-probability of the answer's tokens, in nats."""
    hidden = hidden_states(config, weights, example.ids[:-1])[example.answer - 1 :]
    return functional.cross_entropy(functional.linear(hidden, weights.head), example.ids[example.answer :])


def hidden_states(config: ModelConfig, weights: ModelWeights, ids: Tensor) -> Tensor:
    """[tokens, hidden], after the last norm, by operations that gradients go through."""
    turns = cos_sin(weights.rope_frequencies, torch.arange(len(ids)))
    x = functional.embedding(ids, weights.embedding)
    for layer in weights.layers:
        x = x + functional.linear(_attended(config, layer, _norm(config, x, layer.attn_norm), turns), layer.output)
        gate, up = functional.linear(_norm(config, x, layer.ffn_norm), layer.gate_up).chunk(2, dim=-1)
        x = x + functional.linear(functional.silu(gate) * up, layer.down)
    return _norm(config, x, weights.final_norm)


def _norm(config: ModelConfig, x: Tensor, weight: Tensor) -> Tensor:
    return functional.rms_norm(x, weight.shape, weight, config.rms_eps)


def _attended(config: ModelConfig, layer: LayerWeights, x: Tensor, turns: tuple[Tensor, Tensor]) -> Tensor:
    """Causal attention of one sequence, [tokens, heads · head_dim]."""
    joined = torch.split(functional.linear(x, layer.qkv), [config.q_size, config.kv_size, config.kv_size], dim=-1)
    q, k, v = (torch.unflatten(part, 1, (-1, config.head_dim)) for part in joined)
    q, k = rotate(q, *turns), rotate(k, *turns)
    q, k, v = (each.transpose(0, 1).unsqueeze(0) for each in (q, k, v))
    mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    return mixed[0].transpose(0, 1).flatten(1)


def tuned(steps: int, rate: float = RATE) -> Callable[[WeightSource], WeightSource]:
    """The model after so many steps on all of its weights; the examples take turns."""

    def train(config: ModelConfig, weights: ModelWeights, taught: Sequence[Example]) -> ModelWeights:
        trained, parameters = _with_gradients(weights)
        _descend(lambda example: loss(config, trained, example), parameters, islice(cycle(taught), steps), rate)
        return trained

    return _source(f"{steps} steps of tuning at {rate}", train)


def tuned_by_lora(
    steps: int, rate: float = RATE, rank: int = RANK, seed: int = 0
) -> Callable[[WeightSource], WeightSource]:
    """The model with trained adapters of `rank` on the query, key, value and output matrices of attention merged in."""

    def train(config: ModelConfig, weights: ModelWeights, taught: Sequence[Example]) -> ModelWeights:
        adapters = [_Adapters.new(config, layer, rank, seed + index) for index, layer in enumerate(weights.layers)]

        def adapted() -> ModelWeights:
            layers = zip(adapters, weights.layers, strict=True)
            return replace(weights, layers=tuple(adapter.merged(layer) for adapter, layer in layers))

        parameters = [parameter for adapter in adapters for pair in adapter.pairs for parameter in pair]
        _descend(lambda example: loss(config, adapted(), example), parameters, islice(cycle(taught), steps), rate)
        return adapted()

    return _source(f"{steps} steps of LoRA of rank {rank} at {rate}, seed {seed}", train)


@dataclass(frozen=True, slots=True)
class _Adapters:
    """Pairs (down [rank, in], up [out, rank]) for query, key, value and output; `up` begins at zero, as LoRA's does."""

    pairs: tuple[tuple[Tensor, Tensor], ...]

    @staticmethod
    def new(config: ModelConfig, layer: LayerWeights, rank: int, seed: int) -> _Adapters:
        generator = torch.Generator().manual_seed(seed)
        rows = (config.q_size, config.kv_size, config.kv_size, layer.output.shape[0])
        widths = (*[layer.qkv.shape[1]] * 3, layer.output.shape[1])
        return _Adapters(tuple(_pair(out, width, rank, generator) for out, width in zip(rows, widths, strict=True)))

    def merged(self, layer: LayerWeights) -> LayerWeights:
        *qkv, output = (up @ down for down, up in self.pairs)
        return replace(layer, qkv=layer.qkv + torch.cat(qkv), output=layer.output + output)


def _pair(out: int, width: int, rank: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """As peft begins: uniform within ±1/√width, and zeros. Alpha is the rank, so that their product counts as it is."""
    down = (torch.rand(rank, width, generator=generator) * 2 - 1) / width**0.5
    return down.requires_grad_(), torch.zeros(out, rank, requires_grad=True)


def _descend(
    loss_of: Callable[[Example], Tensor], parameters: Sequence[Tensor], taught: Iterator[Example], rate: float
) -> None:
    for example in taught:
        gradients = torch.autograd.grad(loss_of(example), parameters)
        with torch.no_grad():
            for parameter, gradient in zip(parameters, gradients, strict=True):
                parameter.sub_(gradient, alpha=rate)


def _with_gradients(weights: ModelWeights) -> tuple[ModelWeights, list[Tensor]]:
    """A copy whose every weight asks for its gradient, and those weights."""
    parameters: list[Tensor] = []

    def copied(weight: Tensor) -> Tensor:
        parameters.append(weight.clone().requires_grad_())
        return parameters[-1]

    return _each(weights, copied), parameters


def _each(weights: ModelWeights, change: Callable[[Tensor], Tensor]) -> ModelWeights:
    """The weights with every one changed; a tied head stays tied, and the rotary frequencies are copied."""

    def changed(layer: LayerWeights) -> LayerWeights:
        given: dict[str, Any] = {each.name: getattr(layer, each.name) for each in fields(layer)}
        return replace(layer, **{name: change(weight) for name, weight in given.items() if weight is not None})

    embedding = change(weights.embedding)
    return ModelWeights(
        embedding=embedding,
        layers=tuple(map(changed, weights.layers)),
        final_norm=change(weights.final_norm),
        head=embedding if weights.head is weights.embedding else change(weights.head),
        rope_frequencies=weights.rope_frequencies.clone(),
    )


Train = Callable[[ModelConfig, ModelWeights, Sequence[Example]], ModelWeights]


def _source(label: str, train: Train) -> Callable[[WeightSource], WeightSource]:
    def changed(source: WeightSource) -> WeightSource:
        # Tensors made in inference mode take no part in gradients; copies of them do.
        stored = _each(read_weights(source), Tensor.clone)
        trained = train(source.config, stored, examples(load_tokenizer(source.path).tokenize))
        tensors = {name: tensor.detach() for name, tensor in tensors_by_name(source.config, trained).items()}
        return AlteredSource(source, replaced(label, tensors))

    return changed


def tensors_by_name(config: ModelConfig, weights: ModelWeights) -> Mapping[str, Tensor]:
    """The weights under the names that sources know them by, the joined ones taken apart. For models without biases and
    head norms, as the bundled one is."""
    named = {EMBEDDING: weights.embedding, FINAL_NORM: weights.final_norm}
    if not config.tied_head:
        named[HEAD] = weights.head
    for index, layer in enumerate(weights.layers):
        q, k, v = torch.split(layer.qkv, [config.q_size, config.kv_size, config.kv_size])
        gate, up = layer.gate_up.chunk(2)
        parts = {"attn_q": q, "attn_k": k, "attn_v": v, "attn_output": layer.output, "ffn_gate": gate, "ffn_up": up}
        parts |= {"ffn_down": layer.down, "attn_norm": layer.attn_norm, "ffn_norm": layer.ffn_norm}
        named |= {block_name(index, part): tensor for part, tensor in parts.items()}
    return named

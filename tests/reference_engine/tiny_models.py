"""Tiny models made by the tests: random weights written by transformers, and the same weights written as GGUF."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import torch
from tokenizers import Tokenizer, decoders, pre_tokenizers
from tokenizers.models import BPE
from transformers import AutoModelForCausalLM, LlamaConfig, MistralConfig, PreTrainedModel, Qwen2Config, Qwen3Config

VOCABULARY = 300
SIZES: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 48,
    "intermediate_size": 80,
    "num_hidden_layers": 3,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
    "bos_token_id": 0,
    "eos_token_id": 1,
    "pad_token_id": None,
}
LLAMA3_SCALING: dict[str, Any] = {
    "rope_type": "llama3",
    "rope_theta": 10000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}
CONFIGS = {
    "llama": LlamaConfig(**SIZES, tie_word_embeddings=True),
    "llama-untied-bias": LlamaConfig(**SIZES, attention_bias=True, tie_word_embeddings=False),
    "llama3-scaled": LlamaConfig(**SIZES, rope_parameters=LLAMA3_SCALING),
    "llama-linear": LlamaConfig(**SIZES, rope_parameters={"rope_type": "linear", "rope_theta": 5000.0, "factor": 4.0}),
    "mistral": MistralConfig(**SIZES, sliding_window=None),
    "mistral-window": MistralConfig(**SIZES, sliding_window=24),
    "qwen2": Qwen2Config(**SIZES, tie_word_embeddings=True),
    "qwen2-window": Qwen2Config(
        **SIZES,
        use_sliding_window=True,
        sliding_window=20,
        layer_types=["sliding_attention", "full_attention", "sliding_attention"],
    ),
    "qwen3": Qwen3Config(**SIZES, head_dim=16),
}
TEMPLATE = (
    "{% for message in messages %}<s>{{ message.role }}\n{{ message.content }}</s>\n{% endfor %}"
    "{% if add_generation_prompt %}<s>assistant\n{% endif %}"
)


@dataclass(frozen=True)
class TinyModel:
    folder: Path
    reference: PreTrainedModel

    @torch.inference_mode()
    def logprobs(self, ids: list[int]) -> torch.Tensor:
        """What transformers makes of the same weights, [len(ids), vocabulary] float64."""
        return torch.log_softmax(self.reference(torch.tensor([ids])).logits[0].double(), dim=-1)


def tiny_tokenizer() -> Tokenizer:
    """Bytes and a few merges, with `<s>` and `</s>` as special tokens 0 and 1."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = [("t", "h"), ("th", "e"), ("Ġ", "the"), ("a", "n")]
    tokens = ["<s>", "</s>", *alphabet, *(left + right for left, right in merges)]
    tokenizer = Tokenizer(BPE(vocab={token: id_ for id_, token in enumerate(tokens)}, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(["<s>", "</s>"])
    return tokenizer


def write_tiny_model(folder: Path, kind: str, *, shard_size: str = "1GB") -> TinyModel:
    """A folder as transformers saves it: config, weights, tokenizer, template."""
    torch.manual_seed(0)
    model: PreTrainedModel = AutoModelForCausalLM.from_config(  # type: ignore[no-untyped-call]
        CONFIGS[kind], dtype=torch.float32
    ).eval()
    for parameter in model.parameters():
        parameter.data.add_(torch.randn_like(parameter), alpha=0.1)
    model.save_pretrained(folder, max_shard_size=shard_size)
    tiny_tokenizer().save(str(folder / "tokenizer.json"))
    settings = {"bos_token": "<s>", "eos_token": {"content": "</s>"}, "chat_template": TEMPLATE}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return TinyModel(folder, model)


GGUF_NAMES = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def gguf_tensors(model: TinyModel, architecture: str) -> dict[str, np.ndarray]:
    """The model's tensors under GGUF's names; for llama, query and key rows interleaved as llama.cpp stores them."""
    config = model.reference.config
    tensors: dict[str, np.ndarray] = {}
    for name, tensor in model.reference.state_dict().items():
        if name == "lm_head.weight" and config.tie_word_embeddings:
            continue
        stem, _, kind = name.rpartition(".")
        prefix, part = "", stem
        if stem.startswith("model.layers."):
            _, _, layer, part = stem.split(".", 3)
            prefix = f"blk.{layer}."
        values = tensor.numpy()
        heads = {"self_attn.q_proj": config.num_attention_heads, "self_attn.k_proj": config.num_key_value_heads}
        if architecture == "llama" and part in heads:
            values = interleaved(values, heads[part])
        tensors[f"{prefix}{GGUF_NAMES[part]}.{kind}"] = values
    return tensors


def interleaved(rows: np.ndarray, heads: int) -> np.ndarray:
    """Row 2i of a head is the i-th of its first half, row 2i+1 the i-th of its second half."""
    out = np.empty_like(rows)
    size = rows.shape[0] // heads
    for head in range(heads):
        block = rows[head * size : (head + 1) * size]
        out[head * size : (head + 1) * size : 2] = block[: size // 2]
        out[head * size + 1 : (head + 1) * size : 2] = block[size // 2 :]
    return out


def write_gguf(
    path: Path,
    model: TinyModel,
    architecture: str,
    *,
    tensors: Mapping[str, np.ndarray] | None = None,
    tokenizer: bool = True,
    extra: Mapping[str, int | float | str] | None = None,
) -> Path:
    """The model as a GGUF file of F32 tensors. `extra` metadata is written after, and instead of, the usual."""
    config = model.reference.config
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_name("tiny")
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    if getattr(config, "head_dim", None):
        writer.add_key_length(config.head_dim)
        writer.add_value_length(config.head_dim)
    if tokenizer:
        write_gguf_tokenizer(writer)
    for key, value in (extra or {}).items():
        kinds = {int: gguf.GGUFValueType.UINT32, float: gguf.GGUFValueType.FLOAT32, str: gguf.GGUFValueType.STRING}
        writer.add_key_value(key, value, kinds[type(value)])
    for name, values in (gguf_tensors(model, architecture) if tensors is None else tensors).items():
        writer.add_tensor(name, np.ascontiguousarray(values))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def write_gguf_tokenizer(writer: gguf.GGUFWriter) -> None:
    described = json.loads(tiny_tokenizer().to_str())["model"]
    tokens = sorted(described["vocab"], key=described["vocab"].__getitem__)
    unused = [f"[unused{id_}]" for id_ in range(len(tokens), VOCABULARY)]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens + unused)
    writer.add_token_types([3, 3, *[1] * (len(tokens) - 2), *[5] * len(unused)])
    writer.add_token_merges([" ".join(merge) for merge in described["merges"]])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(1)
    writer.add_chat_template(TEMPLATE)

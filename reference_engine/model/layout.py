"""The tensors a model must have: their names, their shapes, and which of them are the weights of linear layers.

Names follow GGUF (`blk.3.attn_q.weight`); the other formats translate theirs to these.
"""

from __future__ import annotations

from reference_engine.model.config import ModelConfig

EMBEDDING = "token_embd.weight"
HEAD = "output.weight"
FINAL_NORM = "output_norm.weight"
ROPE_FACTORS = "rope_freqs.weight"

_BLOCK_TO_TRANSFORMERS = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


def block_name(layer: int, part: str, kind: str = "weight") -> str:
    return f"blk.{layer}.{part}.{kind}"


def expected_tensors(config: ModelConfig) -> dict[str, tuple[int, ...]]:
    """Every tensor the decoder reads, with its shape [out, in]."""
    hidden = config.hidden_size
    shapes: dict[str, tuple[int, ...]] = {EMBEDDING: (config.vocab_size, hidden), FINAL_NORM: (hidden,)}
    if not config.tied_head:
        shapes[HEAD] = (config.vocab_size, hidden)
    for layer in range(config.n_layers):
        shapes |= {block_name(layer, *part): shape for part, shape in _block_shapes(config).items()}
    return shapes


def _block_shapes(config: ModelConfig) -> dict[tuple[str, str], tuple[int, ...]]:
    hidden, wide, q, kv = config.hidden_size, config.intermediate_size, config.q_size, config.kv_size
    shapes: dict[tuple[str, str], tuple[int, ...]] = {
        ("attn_norm", "weight"): (hidden,),
        ("attn_q", "weight"): (q, hidden),
        ("attn_k", "weight"): (kv, hidden),
        ("attn_v", "weight"): (kv, hidden),
        ("attn_output", "weight"): (hidden, q),
        ("ffn_norm", "weight"): (hidden,),
        ("ffn_gate", "weight"): (wide, hidden),
        ("ffn_up", "weight"): (wide, hidden),
        ("ffn_down", "weight"): (hidden, wide),
    }
    if config.qkv_bias:
        shapes |= {("attn_q", "bias"): (q,), ("attn_k", "bias"): (kv,), ("attn_v", "bias"): (kv,)}
    if config.output_bias:
        shapes[("attn_output", "bias")] = (hidden,)
    if config.family.qk_norm:
        shapes |= {("attn_q_norm", "weight"): (config.head_dim,), ("attn_k_norm", "weight"): (config.head_dim,)}
    return shapes


def transformers_name(name: str) -> str:
    """The name that transformers gives the tensor called `name` here."""
    top = {EMBEDDING: "model.embed_tokens.weight", HEAD: "lm_head.weight", FINAL_NORM: "model.norm.weight"}
    if name in top:
        return top[name]
    _, layer, part, kind = name.split(".")
    return f"model.layers.{layer}.{_BLOCK_TO_TRANSFORMERS[part]}.{kind}"

"""What a model is made of: one configuration for every supported family, read from GGUF metadata or a config.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn

from reference_engine.errors import ModelFileError
from reference_engine.weights.gguf import GGUFFile


@dataclass(frozen=True, slots=True)
class Family:
    """What sets one member of the Llama family apart from the others.

    `default_kv_heads` is used where config.json leaves the key out (None: as many as query heads).
    `gguf_permutes_rope` says that llama.cpp stores query and key rows in interleaved rotary order. `windows` says
    which layers the sliding window of a config.json holds for: none, all, or where it is switched on those it names.
    """

    name: str
    qkv_bias: bool = False
    qk_norm: bool = False
    default_kv_heads: int | None = None
    gguf_permutes_rope: bool = False
    windows: Literal["none", "all", "named"] = "none"


FAMILIES = {
    family.name: family
    for family in (
        Family("llama", gguf_permutes_rope=True),
        Family("mistral", default_kv_heads=8, gguf_permutes_rope=True, windows="all"),
        Family("qwen2", qkv_bias=True, default_kv_heads=32, windows="named"),
        Family("qwen3", qk_norm=True, default_kv_heads=32, windows="named"),
    )
}


_SCALES_OF_OTHER_FAMILIES = ("attention.scale", "embedding_scale", "logit_scale", "residual_scale")


@dataclass(frozen=True, slots=True)
class RopeScaling:
    """How rotary frequencies are stretched. `linear` uses `factor` only; `llama3` uses all four numbers."""

    kind: str
    factor: float
    low_freq_factor: float = 1.0
    high_freq_factor: float = 4.0
    original_context: int = 8192


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """The shape of a decoder. Sizes are in elements, `context_length` in tokens.

    `windows` says of each layer how many keys a query looks back at, itself included; 0 for all of them.
    """

    family: Family
    vocab_size: int
    hidden_size: int
    intermediate_size: int
    n_layers: int
    n_heads: int
    n_kv_heads: int
    head_dim: int
    context_length: int
    rms_eps: float
    rope_theta: float
    rope_scaling: RopeScaling | None
    qkv_bias: bool
    output_bias: bool
    tied_head: bool
    windows: tuple[int, ...]
    name: str = ""

    @property
    def q_size(self) -> int:
        return self.n_heads * self.head_dim

    @property
    def kv_size(self) -> int:
        return self.n_kv_heads * self.head_dim


def config_from_gguf(file: GGUFFile) -> ModelConfig:
    """Raises ModelFileError for an architecture or a feature that would be computed wrongly."""
    architecture = file.require("general.architecture", str)
    family = _family(file.path, architecture)
    key = f"{architecture}.{{}}".format
    heads = file.require(key("attention.head_count"), int)
    hidden = file.require(key("embedding_length"), int)
    head_dim = file.get(key("attention.key_length"), int) or _divide(file.path, hidden, heads)
    for name, expected in (("attention.value_length", head_dim), ("rope.dimension_count", head_dim)):
        if file.get(key(name), int, expected) != expected:
            _unsupported(file.path, f"{key(name)} = {file.metadata[key(name)]} with heads of {head_dim}")
    if file.get(key("expert_count"), int, 0):
        _unsupported(file.path, "a mixture of experts")
    for name in _SCALES_OF_OTHER_FAMILIES:
        if key(name) in file.metadata:
            _unsupported(file.path, f"the factor {key(name)}")
    embedding = file.tensors.get("token_embd.weight")
    if embedding is None:
        raise ModelFileError(f"{file.path}: tensor 'token_embd.weight' is missing.", remedy="Fetch the file again.")
    context, layers = file.require(key("context_length"), int), file.require(key("block_count"), int)
    return _checked(
        file.path,
        ModelConfig(
            family=family,
            vocab_size=embedding.shape[0],
            hidden_size=hidden,
            intermediate_size=file.require(key("feed_forward_length"), int),
            n_layers=layers,
            n_heads=heads,
            n_kv_heads=file.get(key("attention.head_count_kv"), int) or heads,
            head_dim=head_dim,
            context_length=context,
            rms_eps=file.require(key("attention.layer_norm_rms_epsilon"), float),
            rope_theta=file.get(key("rope.freq_base"), float) or 10_000.0,
            rope_scaling=_gguf_scaling(file, key("rope.scaling.type"), key("rope.scaling.factor")),
            qkv_bias=family.qkv_bias or "blk.0.attn_q.bias" in file.tensors,
            output_bias="blk.0.attn_output.bias" in file.tensors,
            tied_head="output.weight" not in file.tensors,
            windows=_gguf_windows(file, key("attention.sliding_window"), layers, context),
            name=file.get("general.name", str) or file.path.stem,
        ),
    )


def _gguf_scaling(file: GGUFFile, type_key: str, factor_key: str) -> RopeScaling | None:
    kind = file.get(type_key, str, "none")
    if kind == "none":
        return None
    if kind != "linear":
        _unsupported(file.path, f"rotary scaling {kind!r}")
    return RopeScaling("linear", file.require(factor_key, float))


def _gguf_windows(file: GGUFFile, key: str, layers: int, context: int) -> tuple[int, ...]:
    """A pattern of n leaves every n-th layer without a window; a list says of each layer whether it has one."""
    window = file.get(key, int) or 0
    pattern = file.metadata.get(f"{key}_pattern", 0)
    if isinstance(pattern, int):
        return _windows(window, [not pattern or layer % pattern != pattern - 1 for layer in range(layers)], context)
    if not isinstance(pattern, list) or len(pattern) != layers:
        _unsupported(file.path, f"{key}_pattern = {pattern!r} with {layers} layers")
    return _windows(window, [bool(slides) for slides in pattern], context)


def _windows(window: int, slides: Sequence[bool], context: int) -> tuple[int, ...]:
    """A window as long as the context is none."""
    return tuple(window if own and window < context else 0 for own in slides)


@dataclass(frozen=True, slots=True)
class _JsonValues:
    """A config.json's values, each checked to be of the kind asked for."""

    path: Path
    values: Mapping[str, Any]

    def size(self, key: str, default: int | None = None) -> int:
        value: int = self._typed(key, default, int)
        return value

    def number(self, key: str, default: float | None = None) -> float:
        return float(self._typed(key, default, (int, float)))

    def _typed(self, key: str, default: Any, kinds: type | tuple[type, ...]) -> Any:
        value = self.values.get(key)
        value = default if value is None else value
        if isinstance(value, bool) or not isinstance(value, kinds):
            stated = "is missing" if value is None else f"is {value!r}, not a number"
            raise ModelFileError(f"{self.path}: {key!r} {stated}.", remedy="Fetch the model's files again.")
        return value


def config_from_json(path: Path, values: Mapping[str, Any]) -> ModelConfig:
    """From the contents of `path`, a config.json of transformers 4 or 5. Raises as `config_from_gguf` does."""
    family = _family(path, str(values.get("model_type")))
    _refuse_unsupported(path, values)
    read = _JsonValues(path, values)
    hidden, heads = read.size("hidden_size"), read.size("num_attention_heads")
    context = read.size("max_position_embeddings", 2048)
    layers = read.size("num_hidden_layers")
    theta, scaling = _json_rope(path, values)
    bias = bool(values.get("attention_bias", False))
    return _checked(
        path,
        ModelConfig(
            family=family,
            vocab_size=read.size("vocab_size"),
            hidden_size=hidden,
            intermediate_size=read.size("intermediate_size"),
            n_layers=layers,
            n_heads=heads,
            n_kv_heads=read.size("num_key_value_heads", family.default_kv_heads or heads),
            head_dim=read.size("head_dim", 0) or _divide(path, hidden, heads),
            context_length=context,
            rms_eps=read.number("rms_norm_eps", 1e-6),
            rope_theta=theta,
            rope_scaling=scaling,
            qkv_bias=family.qkv_bias or bias,
            output_bias=bias and not family.qkv_bias,
            tied_head=bool(values.get("tie_word_embeddings", False)),
            windows=_json_windows(read, family, layers, context),
            name=str(values.get("_name_or_path") or path.parent.name),
        ),
    )


def _json_windows(read: _JsonValues, family: Family, layers: int, context: int) -> tuple[int, ...]:
    if family.windows == "none" or read.values.get("sliding_window") is None:
        return (0,) * layers
    window = read.size("sliding_window")
    if family.windows == "all":
        return _windows(window, [True] * layers, context)
    if not read.values.get("use_sliding_window"):
        return (0,) * layers
    kinds = read.values.get("layer_types")
    if kinds is None:
        first = read.size("max_window_layers", 28)
        return _windows(window, [layer >= first for layer in range(layers)], context)
    if not isinstance(kinds, list) or len(kinds) != layers or not set(kinds) <= {"full_attention", "sliding_attention"}:
        _unsupported(read.path, f"layer_types {kinds!r} with {layers} layers")
    return _windows(window, [kind == "sliding_attention" for kind in kinds], context)


def _json_rope(path: Path, values: Mapping[str, Any]) -> tuple[float, RopeScaling | None]:
    """Base and scaling; transformers 5 keeps both in `rope_parameters`."""
    parameters = dict(values.get("rope_scaling") or {}) | dict(values.get("rope_parameters") or {})
    read = _JsonValues(path, parameters)
    theta = read.number("rope_theta", _JsonValues(path, values).number("rope_theta", 10_000.0))
    kind = parameters.get("rope_type") or parameters.get("type") or "default"
    if kind == "default":
        return theta, None
    if kind == "linear":
        return theta, RopeScaling("linear", read.number("factor"))
    if kind != "llama3":
        _unsupported(path, f"rotary scaling {kind!r}")
    return theta, RopeScaling(
        "llama3",
        read.number("factor"),
        read.number("low_freq_factor"),
        read.number("high_freq_factor"),
        read.size("original_max_position_embeddings"),
    )


def _refuse_unsupported(path: Path, values: Mapping[str, Any]) -> None:
    if values.get("hidden_act", "silu") != "silu":
        _unsupported(path, f"hidden_act {values['hidden_act']!r}")
    if values.get("mlp_bias"):
        _unsupported(path, "mlp_bias")
    if values.get("partial_rotary_factor", 1.0) not in (1.0, None):
        _unsupported(path, f"partial_rotary_factor {values['partial_rotary_factor']}")
    if values.get("quantization_config"):
        method = values["quantization_config"].get("quant_method", "unknown")
        _unsupported(path, f"weights stored by the quantization method {method!r}")


def _family(path: Path, architecture: str) -> Family:
    family = FAMILIES.get(architecture)
    if family is None:
        raise ModelFileError(
            f"{path}: unknown architecture {architecture!r}; supported: {', '.join(sorted(FAMILIES))}.",
            remedy="Use a model of a supported architecture as the reference.",
        )
    return family


def _divide(path: Path, hidden: int, heads: int) -> int:
    if heads < 1 or hidden % heads:
        _unsupported(path, f"hidden size {hidden} over {heads} attention heads")
    return hidden // heads


def _checked(path: Path, config: ModelConfig) -> ModelConfig:
    sizes = (config.vocab_size, config.hidden_size, config.intermediate_size, config.n_layers, config.n_kv_heads)
    if min(*sizes, config.head_dim, config.context_length) < 1 or config.head_dim % 2:
        _unsupported(path, f"the sizes {config}")
    if min(config.windows) < 0:
        _unsupported(path, f"a sliding window of {min(config.windows)}")
    if config.n_heads % config.n_kv_heads:
        _unsupported(path, f"{config.n_heads} attention heads over {config.n_kv_heads} key-value heads")
    return config


def _unsupported(path: Path, what: str) -> NoReturn:
    raise ModelFileError(
        f"{path}: {what} is not supported by this engine.", remedy="Use another conversion of the model."
    )

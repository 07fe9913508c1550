"""The tokenizer that a GGUF file carries: GPT-2-style byte-level BPE, or SentencePiece BPE with byte fallback."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from tokenizers import AddedToken, Regex, Tokenizer, normalizers, pre_tokenizers
from tokenizers.models import BPE
from tokenizers.normalizers import Normalizer
from tokenizers.pre_tokenizers import PreTokenizer

from reference_engine.chat import ChatTemplate
from reference_engine.errors import ModelFileError
from reference_engine.tokenizer import ModelTokenizer, Spelling, TokenizerFacts
from reference_engine.weights.gguf import GGUFFile

_NORMAL, _UNKNOWN, _CONTROL, _USER_DEFINED, _BYTE = 1, 2, 3, 4, 6
_ROLES = {"bos": "bos", "eos": "eos", "unk": "unknown", "pad": "padding", "sep": "seperator", "mask": "mask"}
_STOPS = ("eos", "eot", "eom")
_CONVERT = "Convert the model again with a current converter, or use its tokenizer.json."

_WORDS_LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
    r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_WORDS_QWEN2 = _WORDS_LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")


@dataclass(frozen=True, slots=True)
class Splitting:
    """How a family cuts text before merging. `whole_words` takes a cut that is a token as it is, without merges."""

    cut: Callable[[], PreTokenizer]
    normalizer: Callable[[], Normalizer] | None = None
    whole_words: bool = False
    adds_bos: bool = False


def _gpt2() -> PreTokenizer:
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)


def _single_digits() -> PreTokenizer:
    return pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), _gpt2()])


def _by_words(pattern: str) -> Callable[[], PreTokenizer]:
    return lambda: pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(pattern), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )


SPLITTINGS = {
    "gpt-2": Splitting(_gpt2),
    "default": Splitting(_gpt2),
    "smollm": Splitting(_single_digits),
    "llama-bpe": Splitting(_by_words(_WORDS_LLAMA3), whole_words=True, adds_bos=True),
    "qwen2": Splitting(_by_words(_WORDS_QWEN2), normalizer=normalizers.NFC),
}


def tokenizer_from_gguf(file: GGUFFile, today: datetime) -> ModelTokenizer:
    """Raises ModelFileError where the file has no tokenizer, or one that would be read wrongly."""
    model = file.get("tokenizer.ggml.model", str)
    tokens = _strings(file, "tokenizer.ggml.tokens")
    types = _numbers(file, "tokenizer.ggml.token_type", len(tokens)) or [_NORMAL] * len(tokens)
    if model == "gpt2":
        backend, spelling, adds_bos = _byte_level(file, tokens)
    elif model == "llama":
        backend, spelling, adds_bos = _sentencepiece(file, tokens, types)
    else:
        raise ModelFileError(
            f"{file.path}: tokenizer model {model!r} is not supported; supported: 'gpt2', 'llama'.", remedy=_CONVERT
        )
    special = {
        id_: token
        for id_, (token, kind) in enumerate(zip(tokens, types, strict=True))
        if kind in (_CONTROL, _USER_DEFINED, _UNKNOWN)
    }
    control = frozenset(id_ for id_ in special if types[id_] != _USER_DEFINED)
    backend.add_tokens([AddedToken(special[id_], normalized=False, special=id_ in control) for id_ in sorted(special)])
    facts = TokenizerFacts(
        spelling=spelling,
        vocab_size=len(tokens),
        special=special,
        control=control,
        stops=frozenset(_stops(file, len(tokens))),
        bos_id=_role_id(file, "bos", len(tokens)),
        adds_bos=bool(file.get("tokenizer.ggml.add_bos_token", bool, adds_bos)),
        digest=_digest(file),
    )
    return ModelTokenizer(backend, facts, ChatTemplate(_template(file), _role_tokens(file, tokens), today))


def _byte_level(file: GGUFFile, tokens: list[str]) -> tuple[Tokenizer, Spelling, bool]:
    name = file.get("tokenizer.ggml.pre", str) or "default"
    splitting = SPLITTINGS.get(name)
    if splitting is None:
        raise ModelFileError(
            f"{file.path}: pre-tokenizer {name!r} is not supported; supported: {', '.join(sorted(SPLITTINGS))}.",
            remedy="Use the model as a safetensors folder with its tokenizer.json.",
        )
    vocabulary = {token: id_ for id_, token in enumerate(tokens)}
    pairs = [
        (left, right) for left, _, right in (merge.partition(" ") for merge in _strings(file, "tokenizer.ggml.merges"))
    ]
    backend = Tokenizer(_bpe(file, vocabulary, pairs, ignore_merges=splitting.whole_words))
    backend.pre_tokenizer = splitting.cut()
    if splitting.normalizer is not None:
        backend.normalizer = splitting.normalizer()
    return backend, "byte-level", splitting.adds_bos


def _sentencepiece(file: GGUFFile, tokens: list[str], types: list[int]) -> tuple[Tokenizer, Spelling, bool]:
    scores = _numbers(file, "tokenizer.ggml.scores", len(tokens))
    if scores is None:
        raise ModelFileError(f"{file.path}: metadata 'tokenizer.ggml.scores' is missing.", remedy=_CONVERT)
    vocabulary = {token: id_ for id_, token in enumerate(tokens)}
    mergeable = [id_ for id_, kind in enumerate(types) if kind == _NORMAL]
    unknown = _role_id(file, "unk", len(tokens))
    backend = Tokenizer(
        _bpe(
            file,
            vocabulary,
            merges_by_score(tokens, scores, mergeable),
            byte_fallback=_BYTE in types,
            fuse_unk=True,
            unk_token=None if unknown is None else tokens[unknown],
        )
    )
    spaces: Normalizer = normalizers.Replace(" ", "▁")
    if file.get("tokenizer.ggml.add_space_prefix", bool, default=True):
        spaces = normalizers.Sequence([normalizers.Prepend("▁"), spaces])
    backend.normalizer = spaces
    return backend, "sentencepiece", True


def merges_by_score(tokens: Sequence[str], scores: Sequence[float], mergeable: Sequence[int]) -> list[tuple[str, str]]:
    """The merge list that makes BPE choose as SentencePiece does: the pair whose union scores highest comes first."""
    known = {tokens[id_]: id_ for id_ in mergeable}
    scored: list[tuple[float, str, str]] = []
    for token, id_ in known.items():
        halves = [(token[:at], token[at:]) for at in range(1, len(token))]
        pairs = [pair for pair in halves if pair[0] in known and pair[1] in known]
        pairs.sort(key=lambda pair: (known[pair[0]], known[pair[1]]))
        scored += [(scores[id_], left, right) for left, right in pairs]
    scored.sort(key=lambda entry: (entry[0], len(entry[1]), len(entry[2])), reverse=True)
    return [(left, right) for _, left, right in scored]


def _bpe(file: GGUFFile, vocabulary: dict[str, int], merges: list[tuple[str, str]], **options: object) -> BPE:
    try:
        return BPE(vocab=vocabulary, merges=merges, **options)
    except Exception as error:  # the tokenizers package raises nothing narrower
        raise ModelFileError(f"{file.path}: its merges do not fit its tokens: {error}.", remedy=_CONVERT) from error


def _strings(file: GGUFFile, key: str) -> list[str]:
    values = file.get(key, list)
    if not values or not all(isinstance(value, str) for value in values):
        raise ModelFileError(f"{file.path}: metadata {key!r} is missing or holds no strings.", remedy=_CONVERT)
    return values


def _numbers(file: GGUFFile, key: str, length: int) -> list[int] | None:
    values = file.get(key, list)
    if values is not None and len(values) != length:
        raise ModelFileError(
            f"{file.path}: metadata {key!r} has {len(values)} entries for {length} tokens.", remedy=_CONVERT
        )
    return values


def _role_id(file: GGUFFile, role: str, vocab_size: int) -> int | None:
    key = f"tokenizer.ggml.{_ROLES.get(role, role)}_token_id"
    id_ = file.get(key, int)
    if id_ is not None and not 0 <= id_ < vocab_size:
        raise ModelFileError(
            f"{file.path}: metadata {key!r} is {id_}, outside the {vocab_size} tokens.", remedy=_CONVERT
        )
    return id_


def _stops(file: GGUFFile, vocab_size: int) -> list[int]:
    return [id_ for role in _STOPS if (id_ := _role_id(file, role, vocab_size)) is not None]


def _role_tokens(file: GGUFFile, tokens: list[str]) -> Mapping[str, str]:
    roles = {role: _role_id(file, role, len(tokens)) for role in _ROLES}
    return {f"{role}_token": tokens[id_] for role, id_ in roles.items() if id_ is not None}


def _template(file: GGUFFile) -> str | None:
    return file.get("tokenizer.chat_template", str)


def _digest(file: GGUFFile) -> str:
    values = {key: value for key, value in file.metadata.items() if key.startswith("tokenizer.ggml.")}
    return hashlib.sha256(json.dumps(values, sort_keys=True, ensure_ascii=False).encode()).hexdigest()

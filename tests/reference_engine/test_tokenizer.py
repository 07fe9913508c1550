"""Token ids against transformers, and bytes back from ids, for every kind of tokenizer file."""

from __future__ import annotations

import json
import sys
from itertools import pairwise
from pathlib import Path

import gguf
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import Regex, Tokenizer, normalizers, pre_tokenizers
from tokenizers.models import BPE
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from reference_engine import EngineRequestError, ModelFileError, TokenizerBackend, load_tokenizer
from reference_engine.tokenizer import ModelTokenizer
from tests.reference_engine.tiny_models import TEMPLATE, TinyModel, tiny_tokenizer, write_gguf

TEXTS = [
    "",
    "The quick brown fox jumps over 13 lazy dogs; 3.14159 and 2026-11-29.",
    "tabs\tand\n\n\nnewlines \r\n   and    runs of     spaces   ",
    "def f(x):\n    return {'a': x ** 2, \"b\": [1, 2, 3]}\n",
    "Füße, naïve façade, Ελληνικά, русский, עברית, العربية",
    "今日は世界。안녕하세요 세계! 你好，世界",
    "emoji 😀👩‍👩‍👧‍👦🇳🇴 and ⁂ ∑ →",
    "control \x00\x01\x1f\x7f\x80 and \u200b\u2028\ufeff",
    "don't we'll I'VE o'clock 'quoted'",
    "<|im_start|>user\nhi<|im_end|>\n",
    "<|im_start|><|im_start|> <|im_end|>x<|endoftext|>",
    "<|im_start", "|im_end|>", "a" * 300, "1" * 50,
]  # fmt: skip


# SmolLM2's vocabulary has no token for these; its tokenizer leaves them out of any text.
BYTES_WITHOUT_TOKEN = frozenset((0x04, 0x06, 0x13, 0x14, 0x16, 0x1D, 0xC0, 0xC1, 0xF1, 0xF2, *range(0xF5, 0x100)))


@pytest.fixture(scope="module")
def bundled(bundled_model: Path) -> ModelTokenizer:
    loaded = load_tokenizer(bundled_model)
    assert isinstance(loaded, ModelTokenizer)
    return loaded


@pytest.fixture(scope="module")
def theirs(bundled_model: Path) -> PreTrainedTokenizerFast:
    tokenizer = AutoTokenizer.from_pretrained(bundled_model.parent, gguf_file=bundled_model.name)
    assert isinstance(tokenizer, PreTrainedTokenizerFast)
    return tokenizer


def decoded(tokenizer: TokenizerBackend, ids: list[int]) -> bytes:
    return b"".join(tokenizer.token_bytes(id_) for id_ in ids)


@pytest.mark.model
@pytest.mark.parametrize("text", TEXTS)
def test_the_bundled_tokenizer_gives_the_ids_of_transformers(
    bundled: ModelTokenizer, theirs: PreTrainedTokenizerFast, text: str
) -> None:
    assert bundled.tokenize(text) == theirs.encode(text, add_special_tokens=False)


@pytest.mark.model
@settings(max_examples=300)
@given(st.text(max_size=80))
@example("\ud7ff\ue000")
def test_any_text_comes_back_from_its_ids(bundled: ModelTokenizer, text: str) -> None:
    expected = bytes(byte for byte in text.encode() if byte not in BYTES_WITHOUT_TOKEN)

    assert decoded(bundled, bundled.tokenize(text)) == expected
    assert decoded(bundled, bundled.tokenize(text, parse_special=False)) == expected


@pytest.mark.model
def test_the_bytes_that_no_text_can_keep_are_those_without_a_token(bundled: ModelTokenizer) -> None:
    single = {bundled.token_bytes(id_) for id_ in range(bundled.facts.vocab_size)}

    assert {byte for byte in range(256) if bytes((byte,)) not in single} == set(BYTES_WITHOUT_TOKEN)


@pytest.mark.model
@pytest.mark.parametrize(
    ("text", "pieces"),
    [("2026", ["2", "0", "2", "6"]), ("a 12", ["a", " ", "1", "2"]), ("¹² ½", ["¹", "²", " ", "½"])],
)
def test_every_digit_of_any_script_is_cut_off(bundled: ModelTokenizer, text: str, pieces: list[str]) -> None:
    """transformers drops the cut when it converts a GGUF tokenizer; the model's own tokenizer.json has it."""
    assert [bundled.token_bytes(id_).decode() for id_ in bundled.tokenize(text)] == pieces


@pytest.mark.model
def test_special_tokens_can_be_read_as_plain_text(bundled: ModelTokenizer) -> None:
    parsed, verbatim = (bundled.tokenize("<|im_end|>", parse_special=special) for special in (True, False))

    assert parsed == [2]
    assert len(verbatim) > 1
    assert not bundled.facts.control & set(verbatim)
    assert bundled.tokenize("<|im_end|>") == [2]


@pytest.mark.model
def test_every_token_of_the_vocabulary_has_bytes(bundled: ModelTokenizer) -> None:
    assert all(bundled.token_bytes(id_) for id_ in range(bundled.facts.vocab_size))
    assert bundled.token_bytes(1) == b"<|im_start|>"
    assert bundled.shown_bytes(1) == b""


@pytest.mark.parametrize("token_id", [-1, 300, 2**40])
def test_an_id_outside_the_vocabulary_is_a_request_error(tiny_llama: TinyModel, token_id: int) -> None:
    with pytest.raises(EngineRequestError, match=f"no token {token_id}"):
        load_tokenizer(tiny_llama.folder).token_bytes(token_id)


def test_an_unused_id_of_the_vocabulary_has_no_bytes(tiny_llama: TinyModel) -> None:
    assert load_tokenizer(tiny_llama.folder).token_bytes(299) == b""


def test_a_folder_its_tokenizer_json_and_its_gguf_file_agree(tmp_path: Path, tiny_llama: TinyModel) -> None:
    file = write_gguf(tmp_path / "tiny.gguf", tiny_llama, "llama")
    folder, alone, from_gguf = map(load_tokenizer, (tiny_llama.folder, tiny_llama.folder / "tokenizer.json", file))

    for text in TEXTS:
        assert folder.tokenize(text) == alone.tokenize(text) == from_gguf.tokenize(text)
    rendered = folder.render([{"role": "user", "content": "the <s> & the </s>"}])
    assert rendered == alone.render([{"role": "user", "content": "the <s> & the </s>"}])
    assert rendered == from_gguf.render([{"role": "user", "content": "the <s> & the </s>"}])
    assert rendered.text == "<s>user\nthe <s> & the </s></s>\n<s>assistant\n"
    assert rendered.ids == tuple(folder.tokenize(rendered.text))


TOOL = {"type": "function", "function": {"name": "f"}}


@pytest.mark.parametrize(
    ("given", "tools", "told", "family"),
    [
        (None, None, "none", "hermes"),
        (None, [TOOL], "hermes", "hermes"),
        ("{{ tools }}[TOOL_CALLS]", [TOOL], "template", "mistral"),
        ("{{ tools }}[TOOL_CALLS]", None, "none", "mistral"),
    ],
)
def test_rendering_says_who_told_of_the_tools(
    tiny_llama: TinyModel, given: str | None, tools: list[dict[str, object]] | None, told: str, family: str
) -> None:
    loaded = load_tokenizer(tiny_llama.folder)
    assert isinstance(loaded, ModelTokenizer)

    rendered = loaded.render([{"role": "user", "content": "x"}], tools, chat_template=given)

    assert rendered.tools_rendered == told
    assert ("<tools>" in rendered.text) is (told == "hermes")
    assert loaded.call_family(given) == family


@pytest.mark.model
def test_the_bundled_model_is_told_of_tools_after_its_own_system_prompt(bundled: ModelTokenizer) -> None:
    question = [{"role": "user", "content": "x"}]
    system = bundled.template.default_system_prompt()

    rendered = bundled.render(question, [TOOL])

    assert rendered.tools_rendered == "hermes"
    assert rendered.text.startswith(f"<|im_start|>system\n{system}\n\n")
    assert rendered.text.endswith(bundled.render(question).text.split("<|im_end|>\n", 1)[1])
    assert bundled.call_family() == "hermes"


def test_reading_a_tokenizer_reads_no_weights(tmp_path: Path, tiny_llama: TinyModel) -> None:
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (tmp_path / name).write_bytes((tiny_llama.folder / name).read_bytes())

    assert load_tokenizer(tmp_path).tokenize("the</s>") == load_tokenizer(tiny_llama.folder).tokenize("the</s>")


def test_stop_tokens_come_from_all_files_that_name_them(tmp_path: Path) -> None:
    tiny_tokenizer().save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"eos_token": {"content": "</s>"}}))
    (tmp_path / "config.json").write_text(json.dumps({"eos_token_id": 5, "vocab_size": 300}))
    (tmp_path / "generation_config.json").write_text(json.dumps({"eos_token_id": [6, 7]}))

    loaded = load_tokenizer(tmp_path)

    assert isinstance(loaded, ModelTokenizer)
    assert loaded.facts.stops == {1, 5, 6, 7}


@pytest.mark.parametrize("content", ["", "{", "[]", '{"model": {"type": "BPE"}}', "\x00"])
def test_a_broken_tokenizer_json_is_refused_by_name(tmp_path: Path, content: str) -> None:
    (tmp_path / "tokenizer.json").write_text(content)

    with pytest.raises(ModelFileError, match=r"tokenizer\.json"):
        load_tokenizer(tmp_path)


def test_the_template_file_is_preferred_to_the_config(tmp_path: Path, tiny_llama: TinyModel) -> None:
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (tmp_path / name).write_bytes((tiny_llama.folder / name).read_bytes())
    question = [{"role": "user", "content": "x"}]
    assert load_tokenizer(tmp_path).render(question).text.startswith("<s>user")

    (tmp_path / "chat_template.jinja").write_text("{{ bos_token }}{{ messages[0].content }}")

    assert load_tokenizer(tmp_path).render(question).text == "<s>x"


def test_of_several_named_templates_the_default_is_used(tmp_path: Path) -> None:
    tiny_tokenizer().save(str(tmp_path / "tokenizer.json"))
    named = [{"name": "tool_use", "template": "no"}, {"name": "default", "template": TEMPLATE}]
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": named}))

    assert load_tokenizer(tmp_path).render([{"role": "user", "content": "x"}]).text.startswith("<s>user\nx")


# GGUF tokenizers of the other kinds


def gguf_tokenizer(path: Path, model: str, tokens: list[str], **options: object) -> ModelTokenizer:
    """A GGUF file with a tokenizer and nothing else."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tokenizer_model(model)
    writer.add_token_list(tokens)
    for name, value in options.items():
        getattr(writer, name)(value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    loaded = load_tokenizer(path)
    assert isinstance(loaded, ModelTokenizer)
    return loaded


ALPHABET = sorted(pre_tokenizers.ByteLevel.alphabet())
MERGES = ["1 2", "12 3", "Ġ a", "a b", "ab c"]
BYTE_TOKENS = [*ALPHABET, "12", "123", "Ġa", "ab", "abc", "abcd"]


@pytest.mark.parametrize(
    ("pre", "text", "pieces"),
    [
        ("smollm", "123 ab", ["1", "2", "3", "Ġa", "b"]),
        ("gpt-2", "123 ab", ["123", "Ġa", "b"]),
        ("llama-bpe", "1234", ["123", "4"]),
        ("qwen2", "123", ["1", "2", "3"]),
        ("llama-bpe", "abcd", ["abcd"]),
        ("qwen2", "abcd", ["abc", "d"]),
        ("llama-bpe", "x\n\n ab", ["x", "Ċ", "Ċ", "Ġa", "b"]),
    ],
)
def test_each_pre_tokenizer_cuts_as_its_family_does(tmp_path: Path, pre: str, text: str, pieces: list[str]) -> None:
    tokenizer = gguf_tokenizer(tmp_path / "t.gguf", "gpt2", BYTE_TOKENS, add_token_merges=MERGES, add_tokenizer_pre=pre)

    assert [BYTE_TOKENS[id_] for id_ in tokenizer.tokenize(text)] == pieces


@pytest.mark.parametrize(("pre", "digits"), [("llama-bpe", r"\p{N}{1,3}"), ("qwen2", r"\p{N}")])
@settings(max_examples=200)
@given(text=st.text(st.sampled_from("aB1 23\n\r\t'sé世😀.,!-_\u00a0\u0301"), max_size=40))
def test_word_patterns_are_those_of_the_published_tokenizers(
    tmp_path_factory: pytest.TempPathFactory, pre: str, digits: str, text: str
) -> None:
    """The pre-tokenizers that Llama 3 and Qwen2 publish in tokenizer.json, written out."""
    published = Tokenizer(
        BPE(
            vocab={token: id_ for id_, token in enumerate(BYTE_TOKENS)},
            merges=[(left, right) for left, right in (merge.split(" ") for merge in MERGES)],
            ignore_merges=pre == "llama-bpe",
        )
    )
    pattern = (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|"
        + digits
        + r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    )
    published.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(pattern), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    if pre == "qwen2":
        published.normalizer = normalizers.NFC()
    path = tmp_path_factory.getbasetemp() / f"{pre}.gguf"
    ours = (
        load_tokenizer(path)
        if path.exists()
        else gguf_tokenizer(path, "gpt2", BYTE_TOKENS, add_token_merges=MERGES, add_tokenizer_pre=pre)
    )

    assert ours.tokenize(text) == published.encode(text, add_special_tokens=False).ids


PIECES = {"▁": -1.0, "t": -9.0, "h": -9.1, "e": -9.2, "th": -3.0, "he": -2.0, "the": -4.0, "▁the": -2.5, "▁t": -1.5}
PIECE_TOKENS = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *PIECES]


@pytest.fixture(scope="module")
def sentencepiece(tmp_path_factory: pytest.TempPathFactory) -> ModelTokenizer:
    return gguf_tokenizer(
        tmp_path_factory.mktemp("spm") / "spm.gguf",
        "llama",
        PIECE_TOKENS,
        add_token_scores=[0.0] * 259 + list(PIECES.values()),
        add_token_types=[2, 3, 3, *[6] * 256, *[1] * len(PIECES)],
        add_bos_token_id=1,
        add_eos_token_id=2,
        add_unk_token_id=0,
    )


def merged_by_score(text: str) -> list[str]:
    """SentencePiece's rule, step by step: join the neighbours whose union scores highest, the leftmost first."""
    symbols = list("▁" + text.replace(" ", "▁"))
    while True:
        unions = [(PIECES.get(a + b, -99.0), -at) for at, (a, b) in enumerate(pairwise(symbols))]
        if not unions or max(unions)[0] == -99.0:
            break
        at = -max(unions)[1]
        symbols[at : at + 2] = [symbols[at] + symbols[at + 1]]
    return [
        piece
        for symbol in symbols
        for piece in ([symbol] if symbol in PIECES else [f"<0x{byte:02X}>" for byte in symbol.encode()])
    ]


@settings(max_examples=300)
@given(st.text(st.sampled_from("the xé😀"), min_size=1, max_size=20))
@example("the the hethe")
def test_sentencepiece_joins_by_score_and_falls_back_to_bytes(sentencepiece: ModelTokenizer, text: str) -> None:
    ids = sentencepiece.tokenize(text)

    assert [PIECE_TOKENS[id_] for id_ in ids] == merged_by_score(text)
    assert decoded(sentencepiece, ids) == b" " + text.encode()


def test_sentencepiece_reads_special_tokens_and_puts_a_space_after_them(sentencepiece: ModelTokenizer) -> None:
    assert [PIECE_TOKENS[id_] for id_ in sentencepiece.tokenize("<s>the</s>")] == ["<s>", "▁the", "</s>"]
    assert sentencepiece.facts.adds_bos
    assert sentencepiece.facts.stops == {2}


@pytest.mark.parametrize(
    ("model", "options", "named"),
    [
        ("gpt2", {"add_tokenizer_pre": "tekken", "add_token_merges": MERGES}, "'tekken' is not supported; supported: "),
        ("gpt2", {}, "'tokenizer.ggml.merges' is missing"),
        ("gpt2", {"add_token_merges": ["q q"]}, "its merges do not fit its tokens"),
        ("gpt2", {"add_token_merges": MERGES, "add_eos_token_id": 9999}, "'tokenizer.ggml.eos_token_id' is 9999"),
        ("gpt2", {"add_token_merges": MERGES, "add_token_types": [1, 1]}, "has 2 entries for 262 tokens"),
        ("llama", {}, "'tokenizer.ggml.scores' is missing"),
        ("t5", {}, "tokenizer model 't5' is not supported; supported: 'gpt2', 'llama'"),
    ],
)
def test_a_tokenizer_that_would_be_read_wrongly_is_refused(
    tmp_path: Path, model: str, options: dict[str, object], named: str
) -> None:
    with pytest.raises(ModelFileError) as caught:
        gguf_tokenizer(tmp_path / "t.gguf", model, BYTE_TOKENS, **options)

    assert named in str(caught.value)
    assert str(tmp_path) in str(caught.value)


def test_importing_the_package_and_reading_a_tokenizer_load_no_torch(tmp_path: Path, tiny_llama: TinyModel) -> None:
    import subprocess

    program = (
        "import sys, reference_engine as r\n"
        f"r.load_tokenizer({str(tiny_llama.folder)!r}).render([{{'role': 'user', 'content': 'x'}}])\n"
        f"r.load_tokenizer({str(write_gguf(tmp_path / 't.gguf', tiny_llama, 'llama'))!r}).tokenize('x')\n"
        "print(sorted({'torch', 'transformers', 'gguf'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"

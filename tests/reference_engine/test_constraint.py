"""What a constrained answer may say: exactly what its schema allows, token by token, and where it may end."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from reference_engine import EngineError, EngineRequestError, load_tokenizer
from reference_engine.constraint import (
    Constraint,
    GrammarVocabulary,
    calls_constraint,
    masked_logprobs,
    schema_constraint,
)
from reference_engine.tokenizer import ModelTokenizer
from reference_engine.tool_calls import Family, marker_ids, parse_calls
from tests.reference_engine.tiny_models import tiny_tokenizer

STOP = 1
WIDTH = 320
TOOLS = [
    {"type": "function", "function": {"name": "now"}},
    {
        "type": "function",
        "function": {
            "name": "wea-ther.2",
            "parameters": {
                "$defs": {"unit": {"enum": ["C", "F", None]}},
                "properties": {"city": {"type": "string", "maxLength": 3}, "unit": {"$ref": "#/$defs/unit"}},
                "required": ["city", "unit"],
                "additionalProperties": False,
            },
        },
    },
]


def read(folder: Path, tokenizer: Tokenizer) -> ModelTokenizer:
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"eos_token": "</s>"}))
    (folder / "config.json").write_text(json.dumps({"vocab_size": 300}))
    loaded = load_tokenizer(folder)
    assert isinstance(loaded, ModelTokenizer)
    return loaded


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> ModelTokenizer:
    """Every byte, a few merges, the families' markers as control tokens, and ids without a token."""
    backend = tiny_tokenizer()
    backend.add_special_tokens(["[TOOL_CALLS]", "[ARGS]", "<|python_tag|>"])
    backend.add_tokens(["<tool_call>", '{"', '": "', '"}'])
    return read(tmp_path_factory.mktemp("tokenizer"), backend)


@pytest.fixture(scope="module")
def vocabulary(tokenizer: ModelTokenizer) -> GrammarVocabulary:
    return GrammarVocabulary(tokenizer, WIDTH)


def walked(
    constraint: Constraint,
    tokenizer: ModelTokenizer,
    seed: int,
    check: Callable[[str, bool], None] = lambda *_: None,
    often: bytes = b'"}]',
) -> list[int]:
    """A random answer: any allowed token, more often one that ends in `often` or the answer, so that it has an end."""
    draws = random.Random(seed)
    ids: list[int] = []
    said = b""
    while len(ids) < 5000:
        mask = constraint.mask()
        check(said.decode(errors="replace"), bool(mask[STOP]))
        allowed = [int(token_id) for token_id in np.flatnonzero(mask)]
        tokens = {id_: tokenizer.token_bytes(id_) for id_ in allowed}
        weights = [60 if id_ == STOP or tokens[id_][-1] in often else 1 for id_ in allowed]
        chosen = draws.choices(allowed, weights)[0]
        constraint.accept(chosen)
        if chosen == STOP:
            return ids
        ids.append(chosen)
        said += tokens[chosen]
    raise AssertionError(said[:200])


def text_of(tokenizer: ModelTokenizer, ids: list[int]) -> str:
    return b"".join(map(tokenizer.token_bytes, ids)).decode(errors="replace")


SCHEMAS: Mapping[str, dict[str, Any]] = {
    "object": {
        "type": "object",
        "properties": {"the": {"type": "string"}, "n": {"type": "integer"}},
        "required": ["the", "n"],
        "additionalProperties": False,
    },
    "optional": {"type": "object", "properties": {"a": {"type": "null"}, "b": {}}, "additionalProperties": False},
    "anything": {},
    "integer": {"type": "integer", "minimum": -5, "maximum": 120},
    "number": {"type": "number", "exclusiveMinimum": 0, "maximum": 2.5},
    "text": {"type": "string", "minLength": 2, "maxLength": 5},
    "pattern": {"type": "string", "pattern": "^[a-c]{2}\\d{1,3}$"},
    "date": {"type": "string", "format": "date"},
    "enum": {"enum": ["the", "then", 12, 1.5, None, True, {"a": [1]}, "é😀\n\"\\"]},
    "const": {"const": {"a": [1, {"b": "c"}]}},
    "array": {"type": "array", "items": {"type": "boolean"}, "minItems": 1, "maxItems": 3},
    "tuple": {"type": "array", "prefixItems": [{"const": 1}, {"type": "string"}], "items": False, "minItems": 2},
    "either": {"anyOf": [{"type": "integer", "minimum": 0, "maximum": 9}, {"type": "array", "maxItems": 0}]},
    "one of": {"oneOf": [{"type": "integer"}, {"type": "string", "maxLength": 3}]},
    "reference": {
        "$defs": {"point": {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 2, "maxItems": 2}},
        "type": "object",
        "properties": {"from": {"$ref": "#/$defs/point"}, "to": {"$ref": "#/$defs/point"}},
        "required": ["to"],
        "additionalProperties": False,
    },
    "recursion": {
        "type": "object",
        "properties": {"the": {"$ref": "#"}},
        "additionalProperties": False,
    },
    "draft 7": {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Annotated",
        "definitions": {"t": {"type": "string", "description": "d", "default": 3, "maxLength": 4}},
        "type": "array",
        "items": [{"$ref": "#/definitions/t"}],
        "additionalItems": False,
    },
    "names like keywords": {
        "type": "object",
        "properties": {"$ref": {"const": {"$ref": "http://x"}}, "const": {"enum": ["enum"]}},
        "required": ["$ref", "const"],
        "additionalProperties": False,
    },
}  # fmt: skip


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_random_constrained_answer_fits_its_schema_and_ends_where_it_does(
    vocabulary: GrammarVocabulary, tokenizer: ModelTokenizer, name: str
) -> None:
    schema = SCHEMAS[name]
    validator = jsonschema.validators.validator_for(schema, jsonschema.Draft202012Validator)(schema)

    def check(text: str, may_stop: bool) -> None:
        assert may_stop == fits(validator, text), text

    for seed in range(3):
        walked(schema_constraint(vocabulary, schema), tokenizer, seed, check)


def fits(validator: Any, text: str) -> bool:
    try:
        return bool(validator.is_valid(json.loads(text)))
    except ValueError:
        return False


@pytest.mark.parametrize("values", [["the", "than", 12, 120, True, None], ["then the other and the an"]])
def test_every_token_that_keeps_to_the_schema_is_allowed_and_no_other(
    vocabulary: GrammarVocabulary, tokenizer: ModelTokenizer, values: list[Any]
) -> None:
    documents = [json.dumps(value).encode() for value in values]
    tokens = {id_: tokenizer.token_bytes(id_) for id_ in range(300) if id_ not in tokenizer.facts.control}
    for document in documents:
        constraint = schema_constraint(vocabulary, {"enum": values})
        for at, letter in enumerate(document):
            said = document[:at]
            expected = {
                id_ for id_, token in tokens.items() if token and any(one.startswith(said + token) for one in documents)
            }
            stops = {STOP} if said in documents else set()
            assert set(np.flatnonzero(constraint.mask()).tolist()) == expected | stops
            constraint.accept(byte_token(tokenizer, letter))


def byte_token(tokenizer: ModelTokenizer, byte: int) -> int:
    return next(id_ for id_ in range(300) if tokenizer.token_bytes(id_) == bytes((byte,)))


def test_ids_without_a_token_and_control_tokens_are_never_text(
    vocabulary: GrammarVocabulary, tokenizer: ModelTokenizer
) -> None:
    constraint = schema_constraint(vocabulary, {"type": "string"})
    constraint.accept(byte_token(tokenizer, ord('"')))

    mask = constraint.mask()

    assert mask.shape == (WIDTH,)
    assert not mask[sorted(tokenizer.facts.control)].any()
    assert not mask[tokenizer.largest_id + 1 :].any()
    assert mask[tokenizer.tokenize("<tool_call>")].all()


def test_a_finished_answer_allows_stop_tokens_only(vocabulary: GrammarVocabulary, tokenizer: ModelTokenizer) -> None:
    constraint = schema_constraint(vocabulary, {"const": []})
    states = []
    for letter in b"[]":
        states.append((constraint.complete, constraint.finished))
        constraint.accept(byte_token(tokenizer, letter))

    assert states == [(False, False), (False, False)]
    assert (constraint.complete, constraint.finished) == (True, True)
    assert np.flatnonzero(constraint.mask()).tolist() == [STOP]
    constraint.accept(STOP)
    assert np.flatnonzero(constraint.mask()).tolist() == [STOP]


@pytest.mark.parametrize("token_id", [STOP, 0, 50, 299, 310, -1, 10**9])
def test_a_token_that_does_not_fit_is_refused_and_changes_nothing(vocabulary: GrammarVocabulary, token_id: int) -> None:
    constraint = schema_constraint(vocabulary, {"type": "object"})
    before = constraint.mask()

    with pytest.raises(EngineError, match=f"token {token_id} "):
        constraint.accept(token_id)

    assert (constraint.mask() == before).all()


def test_a_schema_that_proves_too_complex_on_the_way_is_a_request_error(
    vocabulary: GrammarVocabulary, tokenizer: ModelTokenizer
) -> None:
    fields = {f"p{index}": {"type": "integer"} for index in range(520)}
    constraint = schema_constraint(vocabulary, {"type": "object", "properties": fields, "additionalProperties": False})

    with pytest.raises(EngineRequestError, match="cannot be held to its schema: Parser Error") as caught:
        constraint.accept(byte_token(tokenizer, ord("{")))
    assert "\n" not in caught.value.message
    with pytest.raises(EngineRequestError):
        constraint.mask()


def test_a_copy_goes_its_own_way(vocabulary: GrammarVocabulary, tokenizer: ModelTokenizer) -> None:
    constraint = schema_constraint(vocabulary, {"enum": ["a", 1]})
    before, draft = constraint.mask(), constraint.copy()

    draft.accept(byte_token(tokenizer, ord("1")))

    assert draft.finished
    assert (constraint.mask() == before).all()


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "integer"}
    for _ in range(depth):
        schema = {"type": "array", "items": schema}
    return schema


@pytest.mark.parametrize(
    ("schema", "named"),
    [
        (["object"], "is an object"),
        (None, "is an object"),
        ({"type": "strng"}, "wrong at #/type: 'strng'"),
        ({"properties": {"a": {"minLength": -1}}}, "wrong at #/properties/a/minLength"),
        ({"$schema": ["x"]}, "wrong at #/$schema"),
        ({"not": {"type": "string"}}, 'Unimplemented keys: ["not"]'),
        ({"type": "array", "uniqueItems": True}, "uniqueItems"),
        ({"type": "string", "format": "quux"}, "Unknown format: quux"),
        ({"type": "string", "pattern": "(("}, "unclosed group"),
        ({"type": "string", "pattern": r"(a)\1"}, "backreferences are not supported"),
        ({"$ref": "http://example.com/x"}, "another document, 'http://example.com/x' at #"),
        ({"properties": {"a": {"items": {"$ref": "file:///etc/passwd"}}}}, "at #/properties/a/items"),
        ({"$ref": "other.json#/a"}, "another document"),
        ({"properties": {"enum": {"$ref": "http://x"}}}, "another document"),
        ({"properties": {"properties": {"$ref": "http://x"}}}, "another document"),
        ({"allOf": [{"$ref": "//host/x"}]}, "at #/allOf/0"),
        ({"$ref": "#/$defs/a"}, "'/$defs/a' does not exist"),
        ({"$ref": "#"}, "cannot be held to its schema"),
        ({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}, "cannot be held"),
        ({"type": "integer", "minimum": 5, "maximum": 3}, "minimum (5) is greater than maximum (3)"),
        ({"allOf": [{"type": "integer"}, {"type": "string"}]}, "Unsatisfiable schema"),
        (nested(64), "nested deeper than 64"),
        (nested(100_000), "nested deeper than 64"),
        ({"enum": [json.loads("[" * 500 + "]" * 500)]}, "cannot be held to its schema: "),
        ({"description": "x" * 70_000}, "65536 are allowed"),
        ({"const": float("nan")}, "is not JSON"),
        ({"const": b"x"}, "is not JSON"),
        ({"allOf": [{"anyOf": [{"properties": {f"a{i}{j}": {}}} for j in range(10)]} for i in range(6)]}, "too large"),
    ],
)  # fmt: skip
def test_a_schema_that_cannot_be_kept_is_refused_by_name(
    vocabulary: GrammarVocabulary, schema: Any, named: str
) -> None:
    with pytest.raises(EngineRequestError) as caught:
        schema_constraint(vocabulary, schema)

    assert named in caught.value.message
    assert caught.value.remedy
    assert len(caught.value.message) < 600
    assert "\n" not in caught.value.message


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["string", "#", "#/a", "a", "^(a|b)+$"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["type", "properties", "items", "anyOf", "allOf", "oneOf", "$ref", "enum", "const", "minimum", "maxLength",
             "pattern", "required", "$defs", "additionalProperties", "$schema", "$id", "x-guidance", "a"]
        ),
        inner,
        max_size=3,
    ),
    max_leaves=6,
)  # fmt: skip


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.sampled_from(["type", "properties", "anyOf", "$ref", "enum", "x-guidance"]), JSON))
def test_any_schema_makes_a_constraint_or_a_request_error(
    vocabulary: GrammarVocabulary, schema: dict[str, Any]
) -> None:
    try:
        constraint = schema_constraint(vocabulary, schema)
    except EngineRequestError:
        return
    assert constraint.mask().any()


def test_a_client_cannot_loosen_the_rules(vocabulary: GrammarVocabulary) -> None:
    with pytest.raises(EngineRequestError, match="Unimplemented"):
        schema_constraint(vocabulary, {"not": {}, "x-guidance": {"lenient": True}})


def test_a_model_without_a_stop_token_is_refused(tmp_path: Path) -> None:
    tiny_tokenizer().save(str(tmp_path / "tokenizer.json"))
    loaded = load_tokenizer(tmp_path)
    assert isinstance(loaded, ModelTokenizer)

    with pytest.raises(EngineRequestError, match="no token that ends an answer"):
        GrammarVocabulary(loaded, 300)


# Calls of tools


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("family", ["hermes", "llama3", "mistral"])
def test_a_constrained_call_is_read_by_its_familys_parser(
    vocabulary: GrammarVocabulary, tokenizer: ModelTokenizer, family: Family, several: bool
) -> None:
    names, counts = set(), set()
    for seed in range(6):
        constraint = calls_constraint(vocabulary, family, TOOLS, several=several)
        ids = walked(constraint, tokenizer, seed, often=b'"}];\n[')
        parsed = parse_calls(family, "answer", text_of(tokenizer, ids))
        assert (parsed.content, parsed.malformed) == ("", ())
        for call in parsed.calls:
            index = ["now", "wea-ther.2"].index(call.name)
            parameters: Any = TOOLS[index]["function"].get("parameters", {"maxProperties": 0})  # type: ignore[attr-defined]
            jsonschema.validate(json.loads(call.arguments), parameters)
        names |= {call.name for call in parsed.calls}
        counts.add(len(parsed.calls))
        assert set(ids) & tokenizer.facts.control <= marker_ids(family, tokenizer.facts.special)

    assert names == {"now", "wea-ther.2"}
    assert max(counts) > 1 if several else counts == {1}


def test_one_named_tool_is_the_only_one_that_can_be_called(
    vocabulary: GrammarVocabulary, tokenizer: ModelTokenizer
) -> None:
    ids = walked(calls_constraint(vocabulary, "llama3", TOOLS[:1], several=False), tokenizer, 0)

    assert text_of(tokenizer, ids) == '{"name": "now", "parameters": {}}'


def test_mistral_without_an_argument_token_lists_its_calls(tmp_path: Path) -> None:
    backend = tiny_tokenizer()
    backend.add_special_tokens(["[TOOL_CALLS]"])
    tokenizer = read(tmp_path, backend)

    ids = walked(calls_constraint(GrammarVocabulary(tokenizer, 300), "mistral", TOOLS[:1], several=False), tokenizer, 0)

    assert text_of(tokenizer, ids) == '[TOOL_CALLS][{"name": "now", "arguments": {}}]'
    assert ids[0] == tokenizer.tokenize("[TOOL_CALLS]")[0]


def tool(name: Any, parameters: Any = None) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


@pytest.mark.parametrize(
    ("tools", "named"),
    [
        ([], "no tool to call"),
        ([{"type": "function"}], "no function with a name"),
        ([tool(3)], "no function with a name"),
        ([tool("f", {"type": "string"})], "of the tool 'f'"),
        ([tool("f", [])], "of the tool 'f'"),
        ([tool("f", {"$ref": "http://x"})], "another document"),
        ([tool("f", {"not": {}})], "Unimplemented"),
        ([tool("f", {"description": "x" * 40_000})] * 2, "all tools together"),
    ],
)
def test_tools_that_cannot_be_called_are_refused_by_name(
    vocabulary: GrammarVocabulary, tools: list[dict[str, Any]], named: str
) -> None:
    with pytest.raises(EngineRequestError) as caught:
        calls_constraint(vocabulary, "hermes", tools, several=True)

    assert named in caught.value.message


@pytest.mark.parametrize("name", ['q"\\%', "é😀", "a\nb", "</tool_call>", "%json"])
def test_any_name_of_a_tool_is_written_as_text(
    vocabulary: GrammarVocabulary, tokenizer: ModelTokenizer, name: str
) -> None:
    constraint = calls_constraint(vocabulary, "llama3", [tool(name)], several=False)

    text = text_of(tokenizer, walked(constraint, tokenizer, 0))

    assert json.loads(text) == {"name": name, "parameters": {}}


# Log-probabilities


def test_masked_logprobs_are_the_distribution_among_the_allowed() -> None:
    draws = np.random.default_rng(0)
    logits = draws.normal(0, 30, 1000).astype(np.float32)
    mask = draws.random(1000) < 0.1

    masked = masked_logprobs(logits, mask)

    chances = np.exp(logits.astype(np.longdouble)) * mask
    assert masked.dtype == np.float64
    assert np.allclose(masked[mask], np.log(chances[mask] / chances.sum()).astype(np.float64), rtol=0, atol=1e-12)
    assert np.isneginf(masked[~mask]).all()


def test_masked_logprobs_do_not_care_for_a_constant_nor_for_huge_numbers() -> None:
    logits, mask = np.array([1e300, 0.0, 5.0]), np.array([False, True, True])

    assert np.exp(masked_logprobs(logits, mask)).sum() == pytest.approx(1.0)
    assert np.allclose(masked_logprobs(logits[1:] - 700, mask[1:]), masked_logprobs(logits[1:], mask[1:]))
    assert masked_logprobs(logits, np.array([False, True, False])).tolist() == [-np.inf, 0.0, -np.inf]


def test_a_row_in_which_nothing_is_allowed_is_an_error() -> None:
    with pytest.raises(EngineError, match="No token is allowed"):
        masked_logprobs(np.zeros(3), np.zeros(3, dtype=np.bool_))

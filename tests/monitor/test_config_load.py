"""The configuration file: what it may say, and what each mistake is answered with."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from monitor.config import Config, inspect_config, load_config
from monitor.config.example import EXAMPLE
from monitor.config.load import MAX_FILE_BYTES
from monitor.config.problems import MAX_REPORTED
from monitor.errors import ConfigError, UsageError
from reference_engine.profile import FURTHER_PROFILES, PROFILES

GOOD = """\
version: 1
models:
  smol: { reference: { weights: bundled, allowed_profiles: [fp32, bf16] } }
providers:
  - slug: x
    base_url: http://127.0.0.1:8001/v1
    allow_private: true
    models: [ { model: smol, name: smol } ]
"""

# A provider to add one line to, the sixth.
PROVIDER = """\
version: 1
models: { smol: { reference: { weights: bundled } }, bare: }
providers:
  - slug: acme
    base_url: https://api.acme.ai/v1
    EXTRA
    models: [ { model: smol, name: smol } ]
"""


# Keys of the one entry in the file's models and in its provider's.
REFERENCE = "models.smol.reference"
ENTRY = "providers[0].models[0]"


def provider_with(line: str = "") -> str:
    return PROVIDER.replace("EXTRA", line)


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "providers.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def load(tmp_path: Path, text: str) -> Config:
    return load_config(write(tmp_path, text))


def problems_of(tmp_path: Path, text: str) -> list[tuple[int | None, str, str]]:
    inspected = inspect_config(write(tmp_path, text))
    assert inspected.config is None
    return [(problem.line, problem.key, problem.message) for problem in inspected.problems]


def test_the_least_that_works_in_full(tmp_path: Path) -> None:
    config = load(tmp_path, GOOD)

    (endpoint,) = config.endpoints("x")
    assert endpoint.base_url == "http://127.0.0.1:8001/v1"
    assert endpoint.reference is not None
    assert endpoint.reference.allowed_profiles == ("fp32", "bf16")


def test_the_example_works_as_it_stands(tmp_path: Path) -> None:
    (endpoint,) = load(tmp_path, EXAMPLE).endpoints("x", "smol")

    assert endpoint.allow_private is True


def test_the_example_is_still_valid_with_its_hosted_provider(tmp_path: Path) -> None:
    start = EXAMPLE.index("  # - slug: acme")
    end = EXAMPLE.index("# What the service")
    uncommented = EXAMPLE[:start] + EXAMPLE[start:end].replace("  # ", "  ")

    assert [provider.slug for provider in load(tmp_path, uncommented).file.providers] == ["x", "acme"]


def test_the_example_is_still_valid_with_its_service(tmp_path: Path) -> None:
    start = EXAMPLE.index("# defaults:")
    config = load(tmp_path, EXAMPLE[:start] + EXAMPLE[start:].replace("# ", ""))

    assert config.daily_budget_microusd("x") == 2_000_000
    assert [route.to for route in config.file.routes] == [("ops",)]


@pytest.mark.parametrize("model", ["{}", "null", "", "{ hf: org/name }", "{ reference: null }"])
def test_a_model_without_a_reference_works(tmp_path: Path, model: str) -> None:
    config = load(tmp_path, GOOD.replace("{ reference: { weights: bundled, allowed_profiles: [fp32, bf16] } }", model))

    assert config.endpoints("x")[0].reference is None


def test_every_profile_of_the_engine_may_be_allowed(tmp_path: Path) -> None:
    every = (*PROFILES, *FURTHER_PROFILES)
    config = load(tmp_path, GOOD.replace("[fp32, bf16]", f"[{', '.join(every)}]"))

    reference = config.endpoints("x")[0].reference
    assert reference is not None
    assert reference.allowed_profiles == every
    assert {"fp32", "bf16", "w8-channel", "w8-tensor", "w4-g64", "nf4", "fp8-e4m3", "w8a8"} < set(every)


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("90", 90.0), ("0.5", 0.5), ("60s", 60.0), ("2m", 120.0), ("1.5h", 5400.0), ("250 ms", 0.25), ('"24h"', 86_400.0)],
)
def test_durations_are_seconds_or_carry_a_unit(tmp_path: Path, written: str, seconds: float) -> None:
    config = load(tmp_path, provider_with(f"timeout: {written}"))

    assert config.endpoints("acme")[0].timeout == seconds


@pytest.mark.parametrize(
    "written", ["60 seconds", "2d", "1y", "-1", "0", "0s", "25h", "true", "[]", ".inf", ".nan", "''"]
)
def test_other_durations_are_refused(tmp_path: Path, written: str) -> None:
    ((line, key, message),) = problems_of(tmp_path, provider_with(f"timeout: {written}"))

    assert (line, key) == (6, "providers[0].timeout")
    assert "duration" in message or "more than 0" in message


# Each row: the line that is added to a good provider (line 6), the problem's key, and what is said of it.
BAD_PROVIDER_LINES = [
    ("api_kye: ${env:X}", "providers[0].api_kye", "unknown key; did you mean 'api_key'?"),
    ("every: 15m", "providers[0].every", "unknown key; known: slug, renamed_from, name, enabled, api, base_url,"),
    ("api: openai_chta", "providers[0].api", "must be 'openai_chat'"),
    ("api: 1", "providers[0].api", "must be 'openai_chat'"),
    ("api_key: sk-abcdefghijklmnop", "providers[0].api_key", "must be ${env:NAME} or ${file:PATH}"),
    ("api_key: 12345678", "providers[0].api_key", "must be ${env:NAME} or ${file:PATH}"),
    ("api_key: [x]", "providers[0].api_key", "must be ${env:NAME} or ${file:PATH}"),
    ("allow_private: 1", "providers[0].allow_private", "must be true or false"),
    ("headers: [x]", "providers[0].headers", "must be a mapping"),
    ("headers: { Authorization: Bearer x }", "providers[0].headers.Authorization", "a literal value is refused"),
    ("headers: { x-api-key: x }", "providers[0].headers.x-api-key", "a literal value is refused"),
    ("headers: { X-Auth-Token: x }", "providers[0].headers.X-Auth-Token", "a literal value is refused"),
    ("headers: { Cookie: a=b }", "providers[0].headers.Cookie", "a literal value is refused"),
    ("headers: { Host: evil }", "providers[0].headers.Host", "is set by the client itself"),
    ("headers: { 'a b': c }", 'providers[0].headers["a b"]', "is not a header name"),
    ("headers: { X-A: 1 }", "providers[0].headers.X-A", "must be text; put it in quotes"),
    ('headers: { X-A: "a\\nb" }', "providers[0].headers.X-A", "header cannot carry"),
    ("headers: { X-A: 'x ${env:A} y' }", "providers[0].headers.X-A", "a reference stands alone"),
    ("headers: { X-A: a, x-a: b }", "providers[0].headers.x-a", "the header is there twice"),
    ("extra_body: { model: x }", "providers[0].extra_body", "must not set model: the probes do"),
    ("extra_body: { top_logprobs: 1, n: 2 }", "providers[0].extra_body", "must not set n, top_logprobs"),
    ("extra_body: { api_key: x }", "providers[0].extra_body", "must not carry api_key"),
    ("extra_body: { a: [ { Auth-Token: x } ] }", "providers[0].extra_body", "must not carry Auth-Token"),
    ("extra_body: { a: [ .nan ] }", "providers[0].extra_body", "JSON cannot carry"),
    ("extra_body: 3", "providers[0].extra_body", "must be a mapping"),
    ("routing: {}", "providers[0].routing", "pins nothing"),
    ("routing: { order: [] }", "providers[0].routing.order", "must not be empty"),
    ("routing: { order: [1] }", "providers[0].routing.order[0]", "must be text"),
    ("routing: { order: x }", "providers[0].routing.order", "must be a list"),
    (
        "routing: { only: [x], allow_fallback: true }",
        "providers[0].routing.allow_fallback",
        "did you mean 'allow_fallbacks'?",
    ),
    ("limits: { rpm: 0 }", "providers[0].limits.rpm", "must be greater than 0"),
    ("limits: { rpm: '60' }", "providers[0].limits.rpm", "must be a whole number"),
    ("limits: { concurrency: 1 }", "providers[0].limits.concurrency", "did you mean 'max_concurrency'?"),
    ("name: 5", "providers[0].name", "must be text; put it in quotes"),
    ("name: ''", "providers[0].name", "must not be empty"),
]


@pytest.mark.parametrize(("extra", "key", "said"), BAD_PROVIDER_LINES)
def test_a_wrong_key_of_a_provider_is_named_with_its_line(tmp_path: Path, extra: str, key: str, said: str) -> None:
    path = write(tmp_path, provider_with(extra))

    with pytest.raises(ConfigError) as caught:
        load_config(path)

    lines = str(caught.value.message).splitlines()
    assert any(line.startswith(f"{path}:6: {key}: ") and said in line for line in lines), lines
    assert caught.value.code == "config_invalid"
    assert caught.value.exit_code == 2


# Each row: what of the good file is replaced by what; then line, key and message of the one problem.
BAD_FILES = [
    ("version: 1", "version: 2", 1, "version", "must be 1"),
    ("version: 1", "version: '1'", 1, "version", "must be 1"),
    ("version: 1", "version: true", 1, "version", "must be 1"),
    ("version: 1", "version: 1.0", 1, "version", "must be 1"),
    ("version: 1", "# none", 1, "version", "is required and missing"),
    ("models:\n", "modles:\n", 2, "modles", "unknown key; did you mean 'models'?"),
    ("weights:", "weigths:", 3, f"{REFERENCE}.weigths", "did you mean 'weights'?"),
    ("weights: bundled", "weights: 3", 3, f"{REFERENCE}.weights", "must be text"),
    ("bf16", "bf61", 3, f"{REFERENCE}.allowed_profiles[1]", "is not a profile; did you mean 'bf16'?"),
    ("[fp32, bf16]", "[]", 3, f"{REFERENCE}.allowed_profiles", "must not be empty"),
    ("[fp32, bf16]", "bf16", 3, f"{REFERENCE}.allowed_profiles", "must be a list"),
    ("weights: bundled, ", "", 3, REFERENCE, "needs weights, tokenizer or endpoint"),
    ("weights: bundled", "tokenizer: t", 3, f"{REFERENCE}.allowed_profiles", "a tokenizer alone has no numerics"),
    ("slug: x", "slug: X", 5, "providers[0].slug", "lowercase letters, digits and hyphens"),
    ("slug: x", "slug: " + "x" * 64, 5, "providers[0].slug", "at most 63"),
    ("slug: x", "slug: 3", 5, "providers[0].slug", "must be text"),
    ("    base_url: http://127.0.0.1:8001/v1\n", "", 5, "providers[0].base_url", "is required and missing"),
    ("allow_private: true", "allow_private: false", 6, "providers[0].base_url", "provider 'x' may not be asked"),
    ("    allow_private: true\n", "", 6, "providers[0].base_url", "set `allow_private: true` beside it"),
    ("model: smol", "model: smoll", 8, f"{ENTRY}.model", "did you mean 'smol'?"),
    ("name: smol", "name: 7", 8, f"{ENTRY}.name", "must be text"),
    ("name: smol", "nmae: smol, name: smol", 8, f"{ENTRY}.nmae", "did you mean 'name'?"),
    ("name: smol", "name: smol, allowed_profiles: [q4]", 8, f"{ENTRY}.allowed_profiles[0]", "not a profile"),
    ("name: smol", "name: smol, labels: { tier: 1 }", 8, f"{ENTRY}.labels.tier", "must be text"),
    ("name: smol", "name: smol, prices: { input_usd_per_mtok: 1 }", 8, f"{ENTRY}.prices.output_usd_per_mtok", "is"),
    ("name: smol", "name: smol, slos: [ { up_to: 9 } ]", 8, f"{ENTRY}.slos[0]", "promises nothing; set one of ttft"),
    ("name: smol", "name: smol, slos: [ { ttft: 0 } ]", 8, f"{ENTRY}.slos[0].ttft", "more than 0"),
    ("name: smol", "name: smol, reasoning: { on: { a: 1 } }", 8, f"{ENTRY}.reasoning.off", "is required"),
    ("name: smol", "name: smol, reasoning: { on: { a: 1 }, off: { a: 1 } }", 8, f"{ENTRY}.reasoning",
     "switches nothing"),
    ("name: smol", "name: smol, extra_body: { a: 1 }, reasoning: { on: { a: 1 }, off: {} }", 8, f"{ENTRY}.reasoning",
     "switches a, which extra_body sets for every request"),
    ("name: smol", "name: smol, reasoning: { on: { tools: 1 }, off: {} }", 8, f"{ENTRY}.reasoning.on", "the probes do"),
    ("name: smol", "name: smol, reasoning: { on: { api_key: x }, off: {} }", 8, f"{ENTRY}.reasoning.on", "credentials"),
    ("[ { model: smol, name: smol } ]", "[]", 8, "providers[0].models", "must not be empty"),
    ("{ model: smol", "{ model: smol, name: smol }, { model: smol", 8, "providers[0].models[1]", "earlier entry"),
]  # fmt: skip


@pytest.mark.parametrize(("good", "bad", "line", "key", "said"), BAD_FILES)
def test_a_mistake_is_named_with_line_key_and_remedy(
    tmp_path: Path, good: str, bad: str, line: int, key: str, said: str
) -> None:
    assert good in GOOD

    problems = problems_of(tmp_path, GOOD.replace(good, bad, 1))

    assert any((line, key) == problem[:2] and said in problem[2] for problem in problems), problems


def test_all_problems_are_reported_at_once(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        dedent("""\
        version: 3
        defualts: {}
        models: { smol: { referense: {} } }
        providers:
          - slug: x
            base_url: http://127.0.0.1/v1
            timeout: soon
            models: [ { model: smal, name: smol } ]
          - slug: x
            api_key: sk-abcdefghijklmnop
            models: []
        """),
    )

    with pytest.raises(ConfigError) as caught:
        load_config(path)

    assert caught.value.message.splitlines() == [
        f"{path} has 10 problems:",
        f"{path}:1: version: must be 1, the only version there is",
        f"{path}:2: defualts: unknown key; did you mean 'defaults'?",
        f"{path}:3: models.smol.referense: unknown key; did you mean 'reference'?",
        f"{path}:6: providers[0].base_url: provider 'x' may not be asked: its scheme is http. "
        "Use https. If the address is yours, set `allow_private: true` beside it.",
        f'{path}:7: providers[0].timeout: must be a number of seconds or a duration such as "60s" or "2m"',
        f"{path}:8: providers[0].models[0].model: is not among the file's models; did you mean 'smol'?",
        f"{path}:9: providers[1].base_url: is required and missing",
        f"{path}:9: providers[1].slug: is taken by an earlier entry; slugs must differ",
        f"{path}:10: providers[1].api_key: must be ${{env:NAME}} or ${{file:PATH}}: "
        "a key written into the file is refused",
        f"{path}:11: providers[1].models: must not be empty",
    ]


def test_an_old_name_is_one_that_is_gone_and_goes_to_one_entry(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        dedent("""\
        version: 1
        models: { kea: { renamed_from: kea }, owl: { renamed_from: finch }, jay: { renamed_from: finch } }
        providers:
          - { slug: acme, base_url: "https://a.test/v1", models: [ { model: kea, name: m } ] }
          - { slug: bolt, renamed_from: acme, base_url: "https://b.test/v1", models: [ { model: kea, name: m } ] }
        """),
    )

    assert [problem.located(path) for problem in inspect_config(path).problems] == [
        f"{path}:2: models.jay.renamed_from: 'finch' became 'owl' already; keep one",
        f"{path}:2: models.kea.renamed_from: 'kea' is still there, so that it was not renamed; remove one",
        f"{path}:5: providers[1].renamed_from: 'acme' is still there, so that it was not renamed; remove one",
    ]


def test_very_many_problems_are_cut_in_the_message_only(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD + "".join(f"unknown{n}: 1\n" for n in range(150)))

    with pytest.raises(ConfigError) as caught:
        load_config(path)

    assert len(inspect_config(path).problems) == 150
    assert len(caught.value.message.splitlines()) == MAX_REPORTED + 2
    assert caught.value.message.endswith("… and 50 more")


def test_a_key_and_an_authorization_header_exclude_each_other(tmp_path: Path) -> None:
    extra = "api_key: ${env:A}\n    headers: { authorization: 'Bearer ${env:B}' }"

    ((line, key, message),) = problems_of(tmp_path, provider_with(extra))

    assert (line, key) == (6, "providers[0].api_key")
    assert "keep one" in message


@pytest.mark.parametrize(
    ("provider", "entry", "key"),
    [
        ("extra_body: { provider: {} }\n    routing: { only: [a] }", "", "providers[0].extra_body"),
        ("extra_body: { provider: {} }", ", routing: { only: [a] }", "providers[0].extra_body"),
        ("routing: { only: [a] }", ", extra_body: { provider: {} }", f"{ENTRY}.extra_body"),
    ],
)
def test_a_pin_is_set_once(tmp_path: Path, provider: str, entry: str, key: str) -> None:
    text = provider_with(provider).replace("name: smol }", f"name: smol{entry} }}")

    ((_, found, message),) = problems_of(tmp_path, text)

    assert found == key
    assert "so does routing" in message


def test_profiles_need_weights_to_be_allowed_for(tmp_path: Path) -> None:
    text = provider_with().replace("model: smol,", "model: bare, allowed_profiles: [bf16],")

    ((_, key, message),) = problems_of(tmp_path, text)

    assert key == f"{ENTRY}.allowed_profiles"
    assert "model 'bare' lacks" in message


def test_the_same_model_may_be_listed_twice_with_different_pins(tmp_path: Path) -> None:
    entries = "{ model: smol, name: smol }, { model: smol, name: smol, routing: { only: [a] } }"

    config = load(tmp_path, provider_with().replace("{ model: smol, name: smol }", entries))

    assert len(config.endpoints("acme", "smol")) == 2


def test_sections_with_every_line_commented_out_are_empty(tmp_path: Path) -> None:
    config = load(tmp_path, "defaults:\n" + provider_with("limits:"))

    assert config.endpoints("acme")[0].max_concurrency == 4


@pytest.mark.parametrize(
    ("text", "said"), [("", "is empty"), ("# only this\n", "is empty"), ("[1]", "must be a mapping")]
)
def test_a_file_without_a_mapping_is_refused(tmp_path: Path, text: str, said: str) -> None:
    ((_, key, message),) = problems_of(tmp_path, text)

    assert key == ""
    assert said in message


def test_a_missing_file_names_the_command_that_writes_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="There is no configuration file") as caught:
        load_config(tmp_path / "none.yaml")

    assert str(tmp_path / "none.yaml") in caught.value.message
    assert "`monitor config init`" in caught.value.remedy


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        load_config(tmp_path)


def test_a_file_that_is_too_large_is_not_parsed(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="larger than 1000000 bytes"):
        load(tmp_path, "#" * (MAX_FILE_BYTES + 1))


def test_a_file_that_is_not_utf_8_names_the_line_and_keeps_its_bytes_to_itself(tmp_path: Path) -> None:
    path = tmp_path / "providers.yaml"
    path.write_bytes(b"version: 1\napi_key: canary\xff\n")

    with pytest.raises(ConfigError, match=r"providers.yaml:2: holds bytes that are not UTF-8") as caught:
        load_config(path)

    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_a_byte_order_mark_is_allowed(tmp_path: Path) -> None:
    path = tmp_path / "providers.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.encode())

    assert load_config(path).provider("x").slug == "x"


def test_an_unknown_provider_gets_a_suggestion(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no provider 'acem'; did you mean 'acme'") as caught:
        load(tmp_path, provider_with()).provider("acem")

    assert caught.value.exit_code == 2


@pytest.mark.parametrize("rest", ["", "providers:", "providers: []\nmodels:\nschedules:"])
def test_a_file_need_not_name_any_provider(tmp_path: Path, rest: str) -> None:
    config = load(tmp_path, f"version: 1\n{rest}\n")

    assert config.all_endpoints() == []
    with pytest.raises(UsageError, match="has no provider 'x', nor any other") as caught:
        config.provider("x")
    assert "providers" in caught.value.remedy


def test_an_unknown_model_gets_a_suggestion(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"Provider 'acme' has no model 'smlo'.*did you mean 'smol'"):
        load(tmp_path, provider_with()).endpoints("acme", "smlo")

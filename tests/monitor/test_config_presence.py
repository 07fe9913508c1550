"""What the configuration refers to: keys and files that are there or not, and hints."""

from __future__ import annotations

from pathlib import Path

from monitor.config import Config, load_config
from monitor.config.presence import hints, missing_references

TEXT = """\
version: 1
models:
  a: { reference: { weights: a.gguf, tokenizer: tok } }
  b: { reference: { tokenizer: /no/such/tokenizer } }
providers:
  - slug: x
    base_url: https://x.example
    api_key: ${env:X_KEY}
    headers:
      X-Token: ${file:token}
      X-Title: monitor
    models: [ { model: a, name: a } ]
  - slug: y
    base_url: https://y.example/v1
    models: [ { model: b, name: b } ]
"""


def load(tmp_path: Path, text: str = TEXT) -> Config:
    path = tmp_path / "providers.yaml"
    path.write_text(text)
    return load_config(path)


def test_everything_that_is_missing_is_named_with_its_line(tmp_path: Path) -> None:
    problems = missing_references(load(tmp_path), {})

    assert [(problem.line, problem.key) for problem in problems] == [
        (3, "models.a.reference.weights"),
        (3, "models.a.reference.tokenizer"),
        (4, "models.b.reference.tokenizer"),
        (8, "providers[0].api_key"),
        (10, "providers[0].headers.X-Token"),
    ]
    assert problems[0].message == f"there is no file or folder {tmp_path / 'a.gguf'}"
    assert problems[3].message == "${env:X_KEY} is not set. Set the environment variable X_KEY."


def test_nothing_is_reported_for_what_is_there(tmp_path: Path) -> None:
    config = load(tmp_path)
    (tmp_path / "a.gguf").touch()
    (tmp_path / "tok").mkdir()
    (tmp_path / "token").write_text("canary-file")

    problems = missing_references(config, {"X_KEY": "canary-env"})

    assert [problem.key for problem in problems] == ["models.b.reference.tokenizer"]
    assert "canary" not in str(problems)


def test_a_base_url_without_a_path_is_hinted_at(tmp_path: Path) -> None:
    (hint,) = hints(load(tmp_path))

    assert (hint.line, hint.key) == (7, "providers[0].base_url")
    assert "/v1" in hint.message


SLOW = """\
version: 1
models: { a: {} }
schedules: [ { id: deep, every: 1d, n: %d, probes: [logprobs, latency] } ]
providers:
  - { slug: x, base_url: "https://x.example/v1", limits: { rpm: 60 }, models: [ { model: a, name: a } ] }
"""


def test_a_schedule_that_no_check_can_finish_is_hinted_at(tmp_path: Path) -> None:
    (hint,) = hints(load(tmp_path, SLOW % 1000))

    assert (hint.line, hint.key) == (5, "providers[0]")
    assert "by schedule 'deep' takes 1007 s; after 420 s it is cut off" in hint.message
    assert hints(load(tmp_path, SLOW % 413)) == []  # with eight streams, the last one leaves after 420 s


def test_a_load_that_no_check_can_finish_is_hinted_at(tmp_path: Path) -> None:
    text = (SLOW % 40).replace("probes:", "load: { rate: 0.1, streams: %d }, probes:")
    (hint,) = hints(load(tmp_path, text % 15))

    assert "the load of schedule 'deep' takes 450 s; a check of a is cut off after 420 s" in hint.message
    assert hints(load(tmp_path, text % 14)) == []


def test_a_path_too_long_for_any_file_is_missing(tmp_path: Path) -> None:
    config = load(tmp_path, TEXT.replace("a.gguf", "a" * 300))

    assert missing_references(config, {})[0].message == f"there is no file or folder {tmp_path / ('a' * 300)}"

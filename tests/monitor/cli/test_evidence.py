"""`monitor evidence`: what a run can prove, for whoever runs the endpoint, and nothing that is nobody's business."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete

from monitor import secrets
from monitor.evidence import subject
from monitor.redaction import KnownSecrets
from monitor.store import RunStatus, text
from monitor.store.tables import SampleBody
from probes.plan import ProbeKind
from tests.endpoints.server import Connection, Received, ScriptedServer
from tests.monitor.cli.commands import Monitor
from tests.monitor.evidence.recorded import KEY, TOKEN, Recorded, asking, by_user, calling, files_of, said
from tests.reference_engine.tiny_models import write_tiny_model

BROKEN = calling("moor", '{"berth": 4')
ELSEWHERE = calling("dock", '{"berth": 4}')
WORDS = said({"role": "assistant", "content": "Moored."})


@pytest.fixture
def recorded(folder: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Recorded:
    known = KnownSecrets()
    for module in (text, subject, secrets):
        monkeypatch.setattr(module, "KNOWN_SECRETS", known)
    monkeypatch.setenv("LARK_KEY", KEY)
    monkeypatch.setenv("LARK_TOKEN", TOKEN)
    return Recorded(folder, data_dir)


@pytest.fixture
def failing(recorded: Recorded) -> str:
    """Six calls: two right ones, three with broken arguments of growing length, one of an unknown tool."""
    items = [asking("a"), asking("broken-2", "Moor it " * 20), asking("unknown"), asking("broken-3", "Moor it " * 40)]
    items += [asking("broken-1"), asking("b")]
    answers = {**{f"broken-{n}": BROKEN for n in (1, 2, 3)}, "unknown": ELSEWHERE}
    return recorded.run(by_user(answers), items)


def documents(files: dict[str, bytes], name: str) -> list[Any]:
    return [json.loads(content) for path, content in sorted(files.items()) if path.endswith(f"/{name}")]


def test_a_bundle_holds_the_smallest_failing_samples_of_each_class(monitor: Monitor, failing: str) -> None:
    ran = monitor("evidence", "export", failing, "--out", "b.zip", "--per-class", "2")

    assert ran.code == 0, ran.err
    assert ran.out.splitlines()[:2] == [
        "TC_ARGS_INVALID_JSON: 3 of 6 samples, 2 shown",
        "TC_UNKNOWN_TOOL: 1 of 6 samples, 1 shown",
    ]
    files = files_of(Path("b.zip"))
    stats = json.loads(files["stats.json"])
    assert [(found["name"], found["samples"]) for found in stats["classes"]] == [
        ("TC_ARGS_INVALID_JSON", 3),
        ("TC_UNKNOWN_TOOL", 1),
    ]
    assert [found["metric"] for found in stats["evidence"]] == ["logprobs"]
    smallest = [json.loads(files[f"{place}/sample.json"])["item"] for place in stats["classes"][0]["shown"]]
    assert smallest == ["broken-1", "broken-2"]
    assert f"root {json.loads(files['manifest.json'])['root']}" in ran.out


def test_a_sample_is_shown_as_it_was_sent_as_it_came_and_as_it_was_understood(monitor: Monitor, failing: str) -> None:
    monitor("evidence", "export", failing, "--out", "b.zip")

    files = files_of(Path("b.zip"))
    (place,) = json.loads(files["stats.json"])["classes"][1]["shown"]
    sample = json.loads(files[f"{place}/sample.json"])
    assert json.loads(files[f"{place}/answer-1.raw"]) == ELSEWHERE
    assert json.loads(files[f"{place}/request.json"])["user"] == "unknown"
    assert sample["wrong"] == [{"name": "TC_UNKNOWN_TOOL", "words": "a call of a tool that was not offered"}]
    assert hashlib.sha256(files[f"{place}/answer-1.raw"]).hexdigest() == sample["recorded"]["response_sha256"]
    understood = json.loads(files[f"{place}/answer.json"])
    assert (understood["quirks"], understood["parsed"]["tool_calls"]) == (
        ["TC_UNKNOWN_TOOL"],
        [{"name": "dock", "arguments": {"berth": 4}}],
    )
    run = json.loads(files["run.json"])
    assert (run["run"]["id"], run["endpoint"]["served_name"]) == (failing, "acme/lark-30b")
    assert run["configuration_unchanged"] is True


def test_the_curl_command_sends_the_same_bytes_again(monitor: Monitor, recorded: Recorded, folder: Path) -> None:
    with ScriptedServer(by_user({"x": BROKEN})) as again:
        run = recorded.run(by_user({"x": BROKEN}), [asking("x", "Liegeplatz “vier” – 'bitte' $HOME\\n")])
        monitor("evidence", "export", run, "--out", "b.zip")
        for path, content in files_of(Path("b.zip")).items():
            if path.startswith("samples/001/"):
                (folder / Path(path).name).write_bytes(content)
        script = (folder / "curl.sh").read_text()
        (folder / "curl.sh").write_text(script.replace(script.split("://")[1].split("/")[0], f"127.0.0.1:{again.port}"))
        variables = dict.fromkeys(("API_KEY", "X_EXTRA_TOKEN"), "another")
        ran = subprocess.run(
            ["/bin/sh", "curl.sh"],
            env={**os.environ, **variables, "no_proxy": "*"},
            capture_output=True,
            check=False,
        )

    assert ran.returncode == 0, ran.stderr
    (received,) = again.received
    assert received.body == (folder / "request.json").read_bytes()
    assert received.json["messages"][0]["content"] == "Liegeplatz “vier” – 'bitte' $HOME\\n"
    headers = {name: received.headers[name] for name in ("authorization", "x-extra-token", "x-team")}
    assert headers == {"authorization": "Bearer another", "x-extra-token": "another", "x-team": "blue"}


def test_the_same_run_makes_the_same_bytes(monitor: Monitor, failing: str) -> None:
    for name in ("one.zip", "two.zip"):
        assert monitor("evidence", "export", failing, "--out", name).code == 0

    assert Path("one.zip").read_bytes() == Path("two.zip").read_bytes()
    assert Path("one.zip").stat().st_mode & 0o777 == 0o600


def test_a_run_without_failures_still_says_what_it_was_found_to_be(monitor: Monitor, recorded: Recorded) -> None:
    run = recorded.run(by_user({}), [asking("a")])

    ran = monitor("evidence", "export", run, "--json")

    assert ran.code == 0
    assert (ran.document["failed"], ran.document["classes"]) == (0, [])
    files = files_of(Path(f"{run}.evidence.zip"))
    assert sorted(files) == ["manifest.json", "report.txt", "run.json", "stats.json"]


def test_deleted_bodies_are_said_to_be_gone(monitor: Monitor, recorded: Recorded, failing: str) -> None:
    with recorded.store() as store, store.sessions.write() as session:
        session.execute(delete(SampleBody))

    exported = monitor("evidence", "export", failing, "--out", "b.zip")
    lines = monitor("evidence", "k2vv", failing, "--out", "k")

    assert exported.code == lines.code == 0
    assert "Left out: 4 failing samples whose requests and answers are deleted by now." in exported.err
    assert "TC_ARGS_INVALID_JSON: 3 of 6 samples, 0 shown" in exported.out
    assert b"none: bodies are deleted by now" in files_of(Path("b.zip"))["report.txt"]
    assert "Left out: 6 samples" in lines.err


# The reference


def test_the_reference_is_asked_the_same(monitor: Monitor, recorded: Recorded, tmp_path: Path) -> None:
    folder = write_tiny_model(tmp_path / "tiny", "llama").folder
    recorded.reference = {"weights": str(folder), "allowed_profiles": ["bf16"]}
    short = asking("x", "Moor.", tools=[], tool_choice="required", max_tokens=3)
    run = recorded.run(by_user({"x": BROKEN, "y": BROKEN}), [short, asking("y")])

    ran = monitor("evidence", "export", run, "--out", "b.zip")
    without = monitor("evidence", "export", run, "--out", "c.zip", "--no-reference")

    assert ran.code == without.code == 0, ran.err
    answer, refusal = documents(files_of(Path("b.zip")), "reference.json")
    assert (answer["profile"], answer["completion_tokens"], answer["not_given"]) == ("bf16", 3, ["tool_choice"])
    assert refusal["error"]["code"] == "engine_request_invalid"
    assert "context" in refusal["error"]["message"]
    assert documents(files_of(Path("c.zip")), "reference.json") == []
    assert "Left out: the reference's answers: not wanted (--no-reference)." in without.err


@pytest.mark.parametrize(
    ("reference", "reason"),
    [(None, "none is configured"), ({"weights": "nowhere.gguf"}, "it cannot be opened (model_not_found)")],
)
def test_a_reference_that_is_not_there_is_said_to_be_missing(
    monitor: Monitor, recorded: Recorded, reference: dict[str, str] | None, reason: str
) -> None:
    recorded.reference = reference
    run = recorded.run(by_user({"x": BROKEN}), [asking("x")])

    ran = monitor("evidence", "export", run, "--out", "b.zip")

    assert ran.code == 0
    assert f"Left out: the reference's answers: {reason}." in ran.err
    assert b"nowhere.gguf" not in b"".join(files_of(Path("b.zip")).values())


# What is nobody's business

ITEM = "canary-item-5c1f: how many berths has the harbour of Zennorel?"
# The last one ends the run.
MOODS = (*("ok",) * 5, "escaped", "not-json", "500", "slow", "429", "401")


async def repeating(received: Received, connection: Connection) -> None:
    """Repeats key, token and prompt in everything it answers; the mood is the item's key."""
    sent = received.json
    prompt, mood = sent["messages"][-1]["content"], sent["user"].split(".")[0]
    said_back = f"you sent {received.headers['authorization']} {received.headers['x-extra-token']} and {prompt}"
    headers = {"Retry-After": "0", "X-Request-Id": KEY, "Server": TOKEN}
    if mood == "slow":
        await connection.begin(headers=headers)
        await connection.event(said({"content": said_back}))
        await asyncio.sleep(30)
    elif mood in ("ok", "escaped"):
        whole = json.dumps(
            {**said({"role": "assistant", "content": said_back}), "id": KEY, "system_fingerprint": TOKEN}
        )
        body = "".join(f"\\u{ord(c):04x}" if c in "-" else c for c in whole) if mood == "escaped" else whole
        await connection.reply(200, body.replace('"stop"', '"tool_calls"'), headers=headers)
    elif mood == "not-json":
        await connection.reply(200, f"<p>{said_back}</p>", content_type="text/html", headers=headers)
    else:
        await connection.reply(
            int(mood), {"error": {"message": said_back, "code": KEY, "type": TOKEN}}, headers=headers
        )


@pytest.mark.parametrize("probe", [ProbeKind.TOOL_CALLS, ProbeKind.EVALS])
def test_no_key_and_no_private_item_gets_out(monitor: Monitor, recorded: Recorded, probe: ProbeKind) -> None:
    items = [asking(f"{mood}.{number}", ITEM) for number, mood in enumerate(MOODS)]
    run = recorded.run(repeating, items, probe=probe, timeout_s=0.8, max_concurrency=1)
    with recorded.store() as store:
        assert len(store.exchanges(run)) == len(MOODS)

    ran = [
        monitor("evidence", "export", run, "--out", "b.zip", "--per-class", "20"),
        monitor("evidence", "k2vv", run, "--out", "k"),
        monitor("evidence", "export", run, "--out", "all.zip", "--per-class", "20", "--reveal-private"),
    ]

    assert [one.code for one in ran] == [0, 0, 0], [one.err for one in ran]
    hidden = {**files_of(Path("b.zip")), **{path.name: path.read_bytes() for path in Path("k").iterdir()}}
    revealed = files_of(Path("all.zip"))
    printed = "".join(one.out + one.err for one in ran).encode()
    places = {**hidden, **{f"all {path}": content for path, content in revealed.items()}, "printed": printed}
    meant = {path: content + plain(content) for path, content in places.items()}
    assert [path for path, content in meant.items() if any(s.encode() in content for s in (KEY, TOKEN))] == []
    private = probe is ProbeKind.EVALS
    assert any(ITEM.encode() in content for content in revealed.values())
    assert any(ITEM.encode() in content for content in hidden.values()) is not private
    assert ("private" in ran[0].err and "private" in ran[1].err) is private
    assert "private" not in ran[2].err


def plain(content: bytes) -> bytes:
    """What whoever reads JSON makes of it."""
    decoded = content.decode("utf-8", "replace").replace("\\u002d", "-").replace("\\/", "/")
    return decoded.encode("utf-8", "replace")


# What cannot be exported


def test_what_cannot_be_exported_is_a_usage_error(monitor: Monitor, recorded: Recorded, failing: str) -> None:
    going_on = recorded.run(by_user({}), [asking("a")], status=RunStatus.RUNNING)
    Path("b.zip").write_text("something")

    for words, message in [
        (("export", "run_0"), "There is no run run_0."),
        (("k2vv", "run_0", "--out", "k"), "There is no run run_0."),
        (("export", going_on), "has not ended"),
        (("export", failing, "--out", "b.zip"), "is there already"),
        (("export", failing, "--out", "no/b.zip"), "cannot be written"),
        (("export", failing, "--per-class", "0"), "greater than or equal to 1"),
        (("k2vv", failing, "--out", "b.zip"), "cannot be written"),
    ]:
        ran = monitor("evidence", *words)
        assert (ran.code, message in ran.err) == (2, True), ran.err
    assert Path("b.zip").read_text() == "something"
    assert sorted(path.name for path in Path().iterdir()) == ["b.zip", "data", "providers.yaml"]


def test_without_a_database_there_is_no_run(monitor: Monitor, data_dir: Path) -> None:
    ran = monitor("evidence", "export", "run_0")

    assert (ran.code, data_dir.exists()) == (2, False)
    assert "No run was ever saved." in ran.err


def test_without_a_configuration_a_bundle_still_says_how_to_ask(monitor: Monitor, failing: str, folder: Path) -> None:
    (folder / "providers.yaml").write_text("broken: [")

    ran = monitor("evidence", "export", failing, "--out", "b.zip")

    assert ran.code == 0, ran.err
    files = files_of(Path("b.zip"))
    assert b"-H 'Authorization: Bearer '\"$API_KEY\"" in files["samples/001/curl.sh"]
    assert json.loads(files["run.json"])["configuration_unchanged"] is None


# Checking


@pytest.fixture
def bundle(monitor: Monitor, failing: str) -> Path:
    monitor("evidence", "export", failing, "--out", "b.zip")
    return Path("b.zip")


def test_a_whole_bundle_is_verified_anywhere(
    monitor: Monitor, bundle: Path, folder: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = json.loads(files_of(bundle)["manifest.json"])["root"]
    (folder / "elsewhere").mkdir()
    bundle.rename(folder / "elsewhere" / "b.zip")
    monkeypatch.chdir(folder / "elsewhere")
    monkeypatch.setenv("MONITOR_DATA_DIR", str(folder / "nowhere"))

    ran = monitor("evidence", "verify", "b.zip", "--root", root)

    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("verified: ")
    assert ran.out.rstrip().endswith(f"root {root}")
    assert not (folder / "nowhere").exists()


def test_a_bundle_that_was_made_anew_has_another_root(monitor: Monitor, bundle: Path) -> None:
    ran = monitor("evidence", "verify", str(bundle), "--root", "0" * 64, "--json")

    assert ran.code == 3
    assert (ran.document["ok"], ran.document["path"]) == (False, "manifest.json")


def test_a_file_that_is_no_bundle_is_refused(monitor: Monitor, folder: Path) -> None:
    (folder / "b.zip").write_text("no bundle")

    for file in ("b.zip", "nowhere.zip", "."):
        ran = monitor("evidence", "verify", file, "--json")
        assert (ran.code, ran.document["error"]["code"]) == (2, "evidence_invalid")


# K2VV


def test_k2vv_files_are_those_that_one_counts_by_hand(monitor: Monitor, recorded: Recorded) -> None:
    answers = {"bad": BROKEN, "unknown": ELSEWHERE, "words": WORDS, "none": {**WORDS, "choices": []}}
    answers["masked"] = said({"role": "assistant", "content": "…"}, "tool_calls")
    answers["cut"] = said({"role": "assistant", "content": "Moo"}, "length")
    run = recorded.run(by_user(answers), [asking(key) for key in ("good", *answers)])

    ran = monitor("evidence", "k2vv", run, "--out", "k", "--json")

    assert ran.code == 0, ran.err
    summary = json.loads(Path("k/summary.json").read_text())
    assert ran.document["summary"] == summary
    times = {name: summary.pop(name) for name in ("eval_started_at", "eval_finished_at", "eval_duration_ms")}
    assert times["eval_started_at"] <= times["eval_finished_at"]
    assert summary == {
        "model": "acme/lark-30b",
        "success_count": 6,
        "failure_count": 1,
        "finish_stop": 1,
        "finish_tool_calls": 4,
        "finish_others": 1,
        "finish_others_detail": {"length": 1},
        "schema_validation_error_count": 3,
        "successful_tool_call_count": 1,
        "usage": {"prompt_tokens": 120, "completion_tokens": 30, "total_tokens": 150},
    }
    lines = [json.loads(line) for line in Path("k/results.jsonl").read_text().splitlines()]
    told = [(line["data_index"], line["request"]["user"], line["status"], line["tool_calls_valid"]) for line in lines]
    assert sorted(told, key=lambda line: line[0]) == told
    assert {user: (status, valid) for _, user, status, valid in told} == {
        "good": ("success", True),
        "bad": ("success", False),
        "unknown": ("success", False),
        "words": ("success", None),
        "none": ("failed", None),
        "masked": ("success", False),
        "cut": ("success", None),
    }
    assert {line["request"]["user"]: line["response"] for line in lines}["bad"] == BROKEN

"""`monitor suites`: what is printed of a private set, and what never is."""

from __future__ import annotations

import base64
import json
import stat
from pathlib import Path

import pytest

from tests.monitor.cli.commands import Monitor

CANARY = "canary-of-an-item-2c81f0"
FILES = Path(__file__).parents[2] / "probes" / "evals" / "files"
KEY = base64.b64encode(bytes(range(100, 132))).decode()


@pytest.fixture
def file(folder: Path) -> Path:
    path = folder / "Spelling bee.jsonl"
    lines = [
        {"prompt": f"Spell {CANARY}.", "grader": "exact", "expected": CANARY, "category": "spelling"},
        {"prompt": f"Is {CANARY} a word?", "grader": "regex", "expected": ".*"},
        {"prompt": f"Is {CANARY} a word?", "grader": "exact", "expected": "no"},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_import_list_show_and_remove(monitor: Monitor, data_dir: Path, file: Path) -> None:
    made = monitor("suites", "import", str(file), "--json").document
    assert (made["name"], made["version"], made["items"], made["new"]) == ("spelling-bee", 1, 3, True)
    assert monitor("suites", "import", str(file), "--json").document["new"] is False

    (listed,) = monitor("suites", "list", "--json").document["suites"]
    assert listed["sha256"] == made["sha256"]
    shown = monitor("suites", "show", "spelling-bee", "--json").document
    assert (shown["graders"], shown["categories"]) == ({"exact": 2, "regex": 1}, {"": 2, "spelling": 1})
    assert [item["grader"] for item in shown["contents"]] == ["exact", "regex", "exact"]
    assert made["sha256"][:12] in monitor("suites", "show", "spelling-bee").out

    assert monitor("suites", "remove", "spelling-bee").code == 0
    assert monitor("suites", "list", "--json").document["suites"] == []


def test_the_text_is_printed_by_reveal_alone_and_that_is_noted(monitor: Monitor, data_dir: Path, file: Path) -> None:
    printed = [
        monitor("suites", *words)
        for words in (
            ("import", str(file)),
            ("import", str(file), "--json"),
            ("list",),
            ("show", "spelling-bee"),
            ("show", "spelling-bee", "--json"),
            ("lint", "spelling-bee"),
            ("lint", "spelling-bee", "--json"),
            ("lint", str(file)),
        )
    ]
    assert not any(CANARY in ran.out + ran.err for ran in printed)
    assert not any(CANARY.encode() in path.read_bytes() for path in data_dir.rglob("*") if path.is_file())

    revealed = [json.loads(text) for text in monitor("suites", "show", "spelling-bee", "--reveal").out.splitlines()]
    assert [line["expected"] for line in revealed] == [CANARY, ".*", "no"]
    assert len({line["canary"] for line in revealed}) == 1
    document = monitor("suites", "show", "spelling-bee", "--reveal", "--json").document
    assert document["contents"] == revealed
    assert b"suite.reveal" in (data_dir / "monitor.db").read_bytes() + wal(data_dir)


def wal(data_dir: Path) -> bytes:
    path = data_dir / "monitor.db-wal"
    return path.read_bytes() if path.exists() else b""


def test_what_was_revealed_is_the_same_suite_again(monitor: Monitor, data_dir: Path, file: Path) -> None:
    made = monitor("suites", "import", str(file), "--json").document
    copy = file.with_name("copy.jsonl")
    copy.write_text(monitor("suites", "show", "spelling-bee", "--reveal").out)
    assert monitor("suites", "import", str(copy), "--json").document["sha256"] == made["sha256"]


def test_lint_of_a_suite_and_of_a_file_find_the_same(monitor: Monitor, data_dir: Path, file: Path) -> None:
    monitor("suites", "import", str(file))
    stored, fresh = (monitor("suites", "lint", target, "--json") for target in ("spelling-bee", str(file)))
    assert (stored.code, fresh.code) == (2, 2)
    assert stored.document["problems"] == fresh.document["problems"]
    assert [(each["place"], each["flaw"], each["error"], each["first"]) for each in fresh.document["problems"]] == [
        (2, "cannot_fail", True, None),
        (3, "duplicate_prompt", False, 2),
    ]
    assert "cannot_fail" in monitor("suites", "lint", str(file)).out
    assert monitor("suites", "lint", str(FILES / "own.jsonl")).code == 0


def test_a_suite_that_sends_its_canary_is_found(monitor: Monitor, data_dir: Path, file: Path) -> None:
    monitor("suites", "import", str(file))
    revealed = monitor("suites", "show", "spelling-bee", "--reveal").out.splitlines()[0]
    file.write_text(json.dumps({"prompt": json.loads(revealed)["canary"], "grader": "exact", "expected": "x"}) + "\n")
    monitor("suites", "import", str(file))
    problems = monitor("suites", "lint", "spelling-bee", "--json").document["problems"]
    assert [each["flaw"] for each in problems] == ["canary"]


def test_formats_with_a_second_file(monitor: Monitor, data_dir: Path) -> None:
    cases, tools = str(FILES / "gpt_oss_cases.jsonl"), str(FILES / "gpt_oss_tools.json")
    assert monitor("suites", "import", cases, "--with", tools, "--json").document["format"] == "gpt-oss"
    refused = monitor("suites", "import", cases)
    assert refused.code == 2
    assert "error[suite_file_invalid]: Line 1 is refused" in refused.err
    judged = monitor("suites", "import", str(FILES / "lm_eval.jsonl"), "--grader", "judge", "--json").document
    assert monitor("suites", "show", judged["name"], "--json").document["graders"] == {"choice": 2, "judge": 3}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("import", "nowhere.jsonl"), "nowhere.jsonl cannot be read"),
        (("import", "{file}", "--name", "Big Name"), "neither a file nor a name"),
        (("import", "{file}", "--format", "k2vv"), "Line 1 is refused"),
        (("import", "{file}", "--with", "{file}"), "has no second file"),
        (("show", "nothing"), "no suite nothing"),
        (("lint", "nothing"), "no suite nothing"),
        (("remove", "nothing"), "no suite nothing"),
    ],
)
def test_what_cannot_be_is_a_usage_error(
    monitor: Monitor, data_dir: Path, file: Path, words: tuple[str, ...], said: str
) -> None:
    ran = monitor("suites", *(word.replace("{file}", str(file)) for word in words))
    assert ran.code == 2
    assert said in ran.err
    assert CANARY not in ran.out + ran.err


def test_looking_leaves_nothing_behind(monitor: Monitor, data_dir: Path) -> None:
    assert monitor("suites", "list").code == 0
    assert monitor("suites", "show", "x").code == 2
    assert not data_dir.exists()


def test_the_key_is_made_private_and_missed_where_it_is_gone(monitor: Monitor, data_dir: Path, file: Path) -> None:
    monitor("suites", "import", str(file))
    key = data_dir / "suites-key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    key.rename(data_dir / "elsewhere")

    gone = monitor("suites", "show", "spelling-bee")
    assert (gone.code, key.exists()) == (6, False)
    assert "error[suite_unreadable]: The key to the suites is not on this machine" in gone.err
    assert monitor("suites", "list").code == 0

    other = monitor("suites", "import", str(FILES / "own.jsonl"))
    assert other.code == 6
    assert "The suites are sealed with the key" in other.err


def test_a_key_of_the_environment_takes_its_place(
    monitor: Monitor, data_dir: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MONITOR_SUITES_KEY", KEY)
    made = monitor("suites", "import", str(file), "--json").document
    assert not (data_dir / "suites-key").exists()
    monkeypatch.delenv("MONITOR_SUITES_KEY")
    assert monitor("suites", "show", "spelling-bee").code == 6
    (data_dir / "key.b64").write_text(KEY + "\n")
    monkeypatch.setenv("MONITOR_SUITES_KEY_FILE", str(data_dir / "key.b64"))
    assert monitor("suites", "show", "spelling-bee", "--json").document["key_id"] == made["key_id"]
    assert KEY.encode() not in (data_dir / "monitor.db").read_bytes() + wal(data_dir)


@pytest.mark.parametrize("text", ["not-base-64-at-all!", base64.b64encode(b"too short").decode()])
def test_a_key_that_is_none_is_named_by_its_place(
    monitor: Monitor, data_dir: Path, file: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("MONITOR_SUITES_KEY", text)
    ran = monitor("suites", "import", str(file))
    assert (ran.code, text in ran.err) == (2, False)
    assert "${env:MONITOR_SUITES_KEY} is no key for suites" in ran.err

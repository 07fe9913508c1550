"""`monitor suites run`: a private suite asked of an endpoint, and what is left of it afterwards."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from sqlalchemy import select

from monitor import clock
from monitor.check import ledger
from monitor.store import Store
from monitor.store.tables import Sample, SampleBody
from probes.evals.grade import GRADERS
from tests.endpoints.server import Connection, Received, ScriptedServer
from tests.monitor.cli.commands import Monitor

SECRET = "canary-of-an-eval-3f9d27"
KEY = "sk-canary-of-a-key-81c4"
ITEMS = 24


class Answering:
    """Answers an item with its number, but for those in `wrong`; `status` other than 200 and `body` go out instead. It
    refuses what comes after `most` requests."""

    def __init__(self) -> None:
        self.wrong: frozenset[int] = frozenset()
        self.first: Callable[[str], tuple[int, str]] | None = None
        self.always: Callable[[str], tuple[int, str]] | None = None
        self.most: int | None = None
        self.asked: list[str] = []

    async def __call__(self, received: Received, connection: Connection) -> None:
        asked = received.json["messages"][-1]["content"]
        self.asked.append(asked)
        if self.most is not None and len(self.asked) > self.most:
            await connection.reply(401, json.dumps({"error": {"message": "No such key."}}))
            return
        special = self.always or (self.first if len(self.asked) > 1 and self.asked.count(asked) == 1 else None)
        if special is not None:
            status, body = special(received.body.decode())
            await connection.reply(status, body, headers={"Retry-After": "0"})
            return
        number = int(asked.rpartition(" ")[2])
        said = f"{SECRET} says {-1 if number in self.wrong else number}"
        await connection.reply(200, completion(said))


def completion(said: str) -> dict[str, Any]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1760000000,
        "model": f"lark, {said}",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": said}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14},
    }


@pytest.fixture
def suite(folder: Path) -> Path:
    path = folder / "sums.jsonl"
    lines = [
        {
            "request": {"messages": [{"role": "user", "content": f"{SECRET} {number}"}], "max_tokens": 9},
            "grader": {"kind": "number"},
            "expected": number,
            "category": "even" if number % 2 == 0 else "odd",
        }
        for number in range(ITEMS)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.fixture
def answering(folder: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    model = Answering()
    monkeypatch.setenv("CANARY_KEY", KEY)
    with ScriptedServer(model) as server:
        served = {"model": "lark", "name": "acme/lark-30b"}
        provider = {
            "slug": "x",
            "base_url": server.base_url,
            "allow_private": True,
            "api_key": "${env:CANARY_KEY}",
            "models": [served],
        }
        document = {"version": 1, "models": {"lark": {}}, "providers": [provider]}
        (folder / "providers.yaml").write_text(yaml.safe_dump(document))
        monkeypatch.setenv("MONITOR_CONFIG", str(folder / "providers.yaml"))
        yield model


def test_a_suite_is_asked_graded_and_compared_with_itself(monitor: Monitor, answering: Answering, suite: Path) -> None:
    monitor("suites", "import", str(suite))
    answering.wrong = frozenset({1, 3})

    first = monitor("suites", "run", "sums", "--provider", "x", "--json")
    rates = {rate["name"]: rate for rate in first.document["rates"]}
    assert (first.code, first.document["enrolled"]) == (0, True)
    assert (rates["accuracy"]["numerator"], rates["accuracy"]["denominator"]) == (22, 24)
    assert (rates["accuracy.odd"]["numerator"], rates["accuracy.even"]["numerator"]) == (10, 12)
    assert sorted(answering.asked) == sorted(f"{SECRET} {number}" for number in range(ITEMS))

    answering.wrong = frozenset(range(20))
    second = monitor("probe", "--suite", "sums", "--provider", "x", "--json")
    checks = {check["probe"]: check for check in second.document["checks"]}
    assert second.code == 3
    assert (checks["evals"]["verdict"], checks["evals"]["n"]) == ("drift", 24)
    evals = checks["evals"]
    assert evals["reason"] == "0 items gained, 18 lost"
    assert (evals["baseline"], evals["baseline"] + evals["value"]) == (pytest.approx(11 / 12), pytest.approx(1 / 6))
    assert checks["fidelity.evals"]["verdict"] == "inapplicable"


def test_each_suite_has_runs_of_its_own_to_be_compared_with(
    monitor: Monitor, answering: Answering, suite: Path, data_dir: Path
) -> None:
    other = suite.with_name("other.jsonl")
    other.write_text(suite.read_text().replace(SECRET, f"{SECRET}, another"))
    for path in (suite, other):
        monitor("suites", "import", str(path))

    enrolled = [
        monitor("suites", "run", name, "--provider", "x", "--json").document["enrolled"]
        for name in ("sums", "other", "sums", "other")
    ]

    assert enrolled == [True, True, False, False]


def test_a_version_with_mostly_other_items_enrols_again(monitor: Monitor, answering: Answering, suite: Path) -> None:
    monitor("suites", "import", str(suite))
    first = monitor("suites", "run", "sums", "--provider", "x", "--json").document
    lines = suite.read_text().splitlines()
    changed = [line if number < 9 else line.replace(SECRET, f"{SECRET} now") for number, line in enumerate(lines)]
    suite.write_text("\n".join(changed) + "\n")
    monitor("suites", "import", str(suite))

    second, third = (monitor("suites", "run", "sums", "--provider", "x", "--json").document for _ in range(2))

    assert [document["enrolled"] for document in (first, second, third)] == [True, True, False]
    assert [document["checks"][0]["n"] for document in (second, third)] == [9, ITEMS]


def test_items_are_asked_as_often_as_told_and_fewer_where_the_budget_is_small(
    monitor: Monitor, answering: Answering, suite: Path
) -> None:
    monitor("suites", "import", str(suite))
    words = ("suites", "run", "sums", "--provider", "x", "--no-save", "--json")

    twice = monitor(*words, "--reps", "2").document
    ten = monitor(*words, "--max-requests", "10").document
    again = monitor(*words, "--max-requests", "10").document

    (rate, *_) = twice["rates"]
    assert (rate["denominator"], rate["method"]) == (48, "wilson-clustered")
    assert (ten["cost"]["requests"], ten["partial"], again["cost"]["requests"]) == (10, False, 10)
    assert set(answering.asked[-10:]) == set(answering.asked[-20:-10])
    assert monitor(*words, "--max-requests", "7").code == 4


def test_a_run_that_was_broken_off_goes_on_where_it_was(
    monitor: Monitor, answering: Answering, suite: Path, data_dir: Path
) -> None:
    monitor("suites", "import", str(suite))
    words = ("suites", "run", "sums", "--provider", "x", "--json")
    answering.most, answering.wrong = 10, frozenset({1, 3})
    assert monitor(*words, "--reps", "2").code == 5
    answered = set(answering.asked[:10])
    answering.most, answering.asked = 20, []
    assert monitor(*words, "--reps", "2", "--resume").code == 5
    answered |= set(answering.asked[:20])
    answering.most, answering.asked = None, []

    whole = monitor(*words, "--reps", "2", "--resume").document

    (rate, *_) = whole["rates"]
    assert (rate["numerator"], rate["denominator"], whole["enrolled"]) == (44, 48, True)
    assert len(answering.asked) == whole["cost"]["requests"] == 48 - 30
    assert len(answered) == ITEMS
    with Store.open(data_dir / "monitor.db", at=clock.now()) as store:
        (endpoint,) = store.endpoints()
        ((graded,),) = [store.baseline_graded(one.id) for one in store.baselines(endpoint.id)]
    assert len({(one.item, one.rep) for one in graded}) == len(graded) == 48
    ended = monitor(*words, "--resume")
    assert (ended.code, "no run of sums to go on with" in ended.err + ended.out) == (2, True)


def test_a_part_that_was_graded_is_no_part_of_another_version(
    monitor: Monitor, answering: Answering, suite: Path
) -> None:
    monitor("suites", "import", str(suite))
    answering.most = 10
    monitor("suites", "run", "sums", "--provider", "x")
    suite.write_text(suite.read_text() + suite.read_text().splitlines()[0].replace(SECRET, "more") + "\n")
    monitor("suites", "import", str(suite))

    refused = monitor("suites", "run", "sums", "--provider", "x", "--resume")

    assert refused.code == 2
    assert "There is no run of sums to go on with" in refused.err


def test_grades_by_other_graders_are_no_past(
    monitor: Monitor, answering: Answering, suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monitor("suites", "import", str(suite))
    words = ("suites", "run", "sums", "--provider", "x", "--reps", "4", "--json")
    assert monitor(*words).document["enrolled"]
    answering.wrong = frozenset(range(ITEMS))
    with monkeypatch.context() as patched:
        patched.setattr(ledger, "GRADERS", GRADERS + 1)
        changed = monitor(*words, "--no-save").document

    # The same answers are a drift where the same graders graded both.
    assert changed["verdict"] == "inconclusive"
    assert monitor(*words).document["verdict"] == "drift"


def refusing(status: int) -> Callable[[str], tuple[int, str]]:
    return lambda sent: (status, json.dumps({"error": {"message": f"Refused: {sent}", "type": "x", "code": sent}}))


def half_json(sent: str) -> tuple[int, str]:
    return 200, '{"id": ' + sent


# What an endpoint answers, to all requests or to the first of each item, and the exit code (4: 24 items are too few).
ANSWERS = [
    (None, True, 4),
    *((refusing(status), True, 5) for status in (400, 401, 429, 500)),
    (half_json, True, 5),
    (refusing(400), False, 5),
    (refusing(401), False, 5),
    (refusing(429), False, 4),
    (refusing(500), False, 4),
    (half_json, False, 5),
]


def test_nothing_of_a_private_suite_is_left_anywhere(
    monitor: Monitor, answering: Answering, suite: Path, data_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    monitor("suites", "import", str(suite))
    words = ("suites", "run", "sums", "--provider", "x", "--max-requests", "60")
    reports = (suite.with_name("report.xml"), suite.with_name("report.md"))
    written = ("--junit", str(reports[0]), "--md", str(reports[1]))
    codes = []

    for logger in ("monitor", "probes"):  # the command sets the root logger's level itself
        caplog.set_level(logging.DEBUG, logger)
    printed = [monitor(*words, *written), monitor(*words, "--dry-run")]
    for answer, always, _ in ANSWERS:
        answering.asked.clear()
        answering.always, answering.first = (answer, None) if always else (None, answer)
        printed.append(monitor(*words, "--json"))
        codes.append(printed[-1].code)
    printed.append(monitor("history", "--provider", "x", "--json"))

    left = "".join(ran.out + ran.err for ran in printed) + "".join(map(Path.read_text, reports))
    assert codes == [code for _, _, code in ANSWERS]
    for secret in (SECRET, KEY):
        assert secret not in left
        assert not any(secret.encode() in path.read_bytes() for path in data_dir.rglob("*") if path.is_file())
    with Store.open(data_dir / "monitor.db", at=clock.now()) as store, store.sessions.read() as session:
        assert list(session.scalars(select(SampleBody))) == []
        assert len(list(session.scalars(select(Sample)))) > 3 * ITEMS


def test_a_suite_cannot_have_a_name_that_is_built_in(monitor: Monitor, data_dir: Path, suite: Path) -> None:
    for name in ("quick", "full"):
        refused = monitor("suites", "import", str(suite), "--name", name)
        assert refused.code == 2
        assert f"A suite cannot be named {name}" in refused.err
        assert "There is no suite" in monitor("suites", "run", name, "--provider", "x").err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--suite", "nowhere"), "There is no suite nowhere"),
        (("--suite", "sums", "--probe", "latency"), "without --probe"),
        (("--suite", "sums", "--reps", "0"), "--reps 0 is not between 1 and 100"),
        (("--suite", "quick", "--reps", "2"), "--reps is for private suites"),
        (("--suite", "quick", "--resume"), "There is no check to go on with"),
        (("--suite", "quick", "--resume", "--no-save"), "Leave --dry-run and --no-save out"),
    ],
)
def test_what_cannot_be_meant(
    monitor: Monitor, answering: Answering, suite: Path, words: tuple[str, ...], said: str
) -> None:
    monitor("suites", "import", str(suite))
    refused = monitor("probe", "--provider", "x", *words)
    assert refused.code == 2
    assert said in refused.err
    assert answering.asked == []

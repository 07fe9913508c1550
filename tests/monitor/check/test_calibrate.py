"""The ambiguous prompts are calibrated on a reference over HTTP, in pieces, and a check asks those that were kept."""

from __future__ import annotations

import hashlib
import json
import re
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

from monitor import clock
from monitor.check.calibrate import calibrate
from monitor.check.calibrated import Shelf, Subject, calibrated_pool
from monitor.check.options import CheckOptions, Silent
from monitor.check.plans import Drawn, affordable_plans
from monitor.check.reference import OpenReference
from monitor.check.tool_calls import ambiguous_of, tool_plan
from monitor.cli.calibrate import calibrating
from monitor.drift.rule import Verdict
from monitor.errors import UsageError
from monitor.store import Store
from probes.plan import ProbeKind
from probes.tools import calibration
from probes.tools.calibration import FEWEST, LOOK, Dropped
from probes.tools.calibration_piece import CASES_OF_A_PIECE
from probes.tools.calibration_record import Record
from probes.tools.case import Category
from probes.tools.families import suite
from probes.tools.families.suite import candidates
from reference_engine import EngineError, GeneratedToken, SamplingParams
from reference_engine.server.socket_file import bind_socket_file
from tests.installation import Installation
from tests.reference_engine.pool_server import running_pool
from tests.reference_engine.server.tiny_backend import START, TinyBackend
from tests.reference_engine.tiny_models import write_gguf, write_tiny_model

SEED = b"s" * 32
CANDIDATES = 9
A_PIECE = CASES_OF_A_PIECE * LOOK


@pytest.fixture(autouse=True)
def few_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite, "CANDIDATES", CANDIDATES)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "monitor.db", at=clock.now()) as opened:
        yield opened


@dataclass
class Doubtful(TinyBackend):
    """Never calls a tool, always, or half of the time, as the prompt is; its seed decides which time."""

    context_length: int = 100_000
    asked: list[str] = field(default_factory=list)
    interrupted_at: int | None = None
    breaks_at: int | None = None

    def generate(
        self, ids: Sequence[int], params: SamplingParams, *, profile: str = "fp32"
    ) -> Iterator[GeneratedToken]:
        text = bytes(one if one < START else ord("\n") for one in ids).decode()
        said = re.sub(r"Session \S+", "", text)
        self.asked.append(said)
        if len(self.asked) == self.interrupted_at:
            signal.raise_signal(signal.SIGINT)
        if self.breaks_at is not None and len(self.asked) >= self.breaks_at:
            raise EngineError("It is broken.")
        chance = (0.0, 0.5, 1.0)[hashlib.sha256(said.encode()).digest()[0] % 3]
        name = re.findall(r"^tool (\S+)$", text, re.MULTILINE)[-1]
        call = f"<tool_call>\n{json.dumps({'name': name, 'arguments': {}})}\n</tool_call>"
        answer = call if np.random.default_rng(params.seed).random() < chance else "No."
        yield GeneratedToken(ord("x"), answer, -1.0, (), "stop")


class Telling(Silent):
    """Remembers what it was told last."""

    said = ""

    def begin(self, steps: int, what: str) -> None:
        self.said = f"{what} of {steps}"

    def step(self, what: str) -> None:
        self.said = what


def answers(record: Record) -> int:
    return sum(len(marks.replace(".", "")) for run in record.to_json().values() for marks in run.values())


def reference_of(engine: Doubtful) -> OpenReference:
    return OpenReference(engine, engine, ("fp32",), None, engine.describe())


def subject_of(reference: OpenReference) -> Subject:
    subject = Subject.of(reference, SEED)
    assert subject is not None
    return subject


def t3_of(reference: OpenReference, store: Store) -> set[str]:
    at = clock.now()
    drawn = Drawn(SEED, b"nonce", at, pool=calibrated_pool(reference, SEED, at, store.sessions))
    options = CheckOptions(probes=(ProbeKind.TOOL_CALLS,), whole_suite=True)
    planned, _ = affordable_plans(options, drawn, tokenizer=None, has_reference=True, prices=None)
    assert planned.tools is not None
    return {case.key for case in planned.tools.cases.values() if case.category is Category.T3}


def test_it_goes_on_where_it_was_interrupted_and_a_check_asks_what_it_kept(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calibration, "FEWEST", 1)
    engine, progress = Doubtful(), Telling()
    reference, subject = reference_of(engine), subject_of(reference_of(engine))
    shelf = Shelf(store.sessions, subject)
    everybody = {one.case.key for one in subject.instances}

    engine.interrupted_at = A_PIECE + 9
    with pytest.raises(KeyboardInterrupt):
        calibrate(engine, subject, shelf, progress, within_s=None)
    begun, sent = shelf.take_down(), len(engine.asked)
    there = answers(begun.record)
    assert A_PIECE <= there <= sent <= 2 * A_PIECE
    assert progress.said.startswith("first run, ")
    assert calibrate(engine, subject, shelf, Silent(), within_s=0).record.to_json() == begun.record.to_json()
    assert t3_of(reference, store) == everybody
    engine.asked, engine.interrupted_at = [], None
    done = calibrate(engine, subject, shelf, Silent(), within_s=None)

    found = done.record.calibration(subject.cases)
    assert 1 <= len(found.kept) < CANDIDATES
    assert set(found.dropped.values()) <= {Dropped.SELDOM, Dropped.ALWAYS}
    # What is given up was asked eight times, what is kept sixteen times in both runs.
    assert len(engine.asked) + there == answers(done.record) == LOOK * len(found.dropped) + 32 * len(found.kept)
    assert t3_of(reference, store) == set(found.kept)
    assert shelf.take_down().finished_at == done.finished_at


def test_a_reference_that_breaks_down_leaves_nothing_unanswered_behind(store: Store) -> None:
    engine = Doubtful(breaks_at=A_PIECE + 9)
    subject = subject_of(reference_of(engine))
    shelf = Shelf(store.sessions, subject)

    with pytest.raises(EngineError):
        calibrate(engine, subject, shelf, Silent(), within_s=None)

    assert "x" not in "".join(shelf.take_down().record.to_json()["first"].values())
    assert answers(shelf.take_down().record) >= A_PIECE


def test_where_too_few_are_kept_none_is_asked_and_the_verdict_says_why() -> None:
    few = candidates(SEED)[:CANDIDATES]

    cases = tool_plan(SEED, b"nonce", clock.now(), whole=True, pool=few).cases.values()

    assert Category.T3 not in {case.category for case in cases}
    assert ambiguous_of(None) == ambiguous_of(FEWEST) == {}
    (finding,) = ambiguous_of(len(few)).values()
    assert finding.verdict is Verdict.INAPPLICABLE
    assert f"in doubt about {CANDIDATES} of the ambiguous prompts, and {FEWEST} are needed" in finding.reason


def test_it_holds_for_what_it_was_made_with_and_from_when_it_was_made(store: Store) -> None:
    engine = Doubtful()
    reference = reference_of(engine)
    assert reference.description is not None
    calibrate(engine, subject_of(reference), Shelf(store.sessions, subject_of(reference)), Silent(), within_s=None)
    now = clock.now()

    def kept(other: OpenReference, *, seed: bytes = SEED, ago: timedelta = timedelta()) -> bool:
        return calibrated_pool(other, seed, now - ago, store.sessions) is not None

    assert kept(reference)
    assert not kept(reference, ago=timedelta(hours=1))
    assert not kept(reference, seed=b"t" * 32)
    assert not kept(replace(reference, allowed=("bf16", "fp32")))
    for part in ("weights_sha256", "tokenizer_sha256", "template_sha256"):
        assert not kept(replace(reference, description=replace(reference.description, **{part: "9" * 64})))
    assert not kept(replace(reference, description=None))


def test_the_command_goes_on_until_all_is_answered(tmp_path: Path) -> None:
    model = write_tiny_model(tmp_path / "model", "llama")
    weights = write_gguf(tmp_path / "m.gguf", model, "llama", extra={"llama.context_length": 8192})
    installed = Installation(tmp_path)
    installed.configure("http://127.0.0.1:9/v1", reference={"weights": str(weights)})

    with running_pool(bind_socket_file(tmp_path / "pool.sock")):
        service = {"MONITOR_REFERENCE_URL": f"unix:{tmp_path / 'pool.sock'}"}
        asked = installed.run("suites", "calibrate", "--provider", "x", "--timeout", "1s", "--json", **service)
        told = installed.run("suites", "calibrate", "--provider", "x", "--dry-run", **service)

    assert (asked.code, told.code) == (4, 0), asked.err + told.err
    document = asked.document
    assert {key: document[key] for key in ("profile", "run", "of", "candidates", "finished_at", "kept")} == {
        "profile": "bf16",
        "run": 1,
        "of": 400,
        "candidates": 400,
        "finished_at": None,
        "kept": None,
    }
    settled, doubtful = document["settled"], document["in_doubt"]
    assert told.out == (
        f"Run 1 of 2: {settled} of 400 prompts are settled, {doubtful} in doubt. The same command goes on.\n"
    )


def test_without_weights_there_is_nobody_in_doubt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = Installation(tmp_path)
    installed.configure("http://127.0.0.1:9/v1")
    for name, value in installed.environment().items():
        monkeypatch.setenv(name, value)

    with pytest.raises(UsageError, match="no reference with weights"), calibrating("x", None):
        pytest.fail("it is open")

"""Engines are measured in processes of their own, in turn; one that cannot be measured is named."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import engine
from benchmarks.engines.job import FULL, QUICK, Job, LeftOutError, ask
from benchmarks.engines.line_up import BEST_FILES, EVERY_FILE, Contender, line_up
from benchmarks.engines.run import Run, further, measured

FAKE = "tests.benchmarks.fake_engine"
HERE = Path(sys.executable)


def job(what: str = "figures", **options: Any) -> Job:
    return Job(FAKE, what, "no-model", options, threads=1, seed=1, sizes=QUICK)


def contender(name: str, *, ours: bool = False, python: Path = HERE, **options: Any) -> Contender:
    return Contender(name, ours, python, FAKE, Path("no-model"), options)


def test_a_job_survives_json() -> None:
    assert Job.from_json(job(profile="fp32").to_json()) == job(profile="fp32")


def test_a_process_answers_with_figures_and_versions_whatever_its_libraries_print() -> None:
    answer = ask(HERE, job())
    assert answer.about == {"fake": "1.0"}
    # One step takes 100 ms and gives one token of each answer; a prompt takes 10 ms a token.
    assert answer.found["decode_1"] == pytest.approx(10)
    assert answer.found["decode_8"] == pytest.approx(80)
    assert answer.found["decode_32"] == pytest.approx(320)
    assert answer.found["prefill"] == pytest.approx(100)
    assert answer.found["ttft"] == pytest.approx(10 * QUICK.prompt)
    assert answer.found["scoring"] > 0


def test_what_an_engine_does_not_offer_has_no_figure() -> None:
    assert ask(HERE, job(no_scoring="yes")).found["scoring"] is None


@pytest.mark.parametrize(
    ("options", "reason"),
    [({"missing": "rival"}, r"^rival is not installed$"), ({"breaks": "bad weights"}, r"ended with 1: .*bad weights$")],
)
def test_an_engine_that_cannot_be_measured_says_why(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(LeftOutError) as caught:
        ask(HERE, job(**options))
    assert re.search(reason, str(caught.value), re.DOTALL)


def test_without_the_peers_the_remedy_is_named(tmp_path: Path) -> None:
    with pytest.raises(LeftOutError, match="make bench-peers"):
        ask(tmp_path / "python", job())


def test_engines_are_measured_in_turn_and_the_missing_is_left_out() -> None:
    run = Run(threads=1, sizes=QUICK, rounds=2, cells=("decode_1",))
    contenders = [contender("steady", ours=True), contender("missing", missing="rival"), contender("wavers", wavers="")]
    results, left_out = measured(run, contenders)
    assert [(one.name, one.ours, len(one.rounds), one.bitwise) for one in results] == [
        ("steady", True, 2, True),
        ("wavers", False, 2, False),
    ]
    assert results[1].same_bits == {"in a batch": "no", "after a prefix": "yes"}
    assert left_out == {"missing": "rival is not installed"}


def test_our_profiles_and_each_peer_take_part_with_the_same_weights(tmp_path: Path) -> None:
    model, peers = tmp_path / "model.gguf", tmp_path / "python"
    contenders = line_up(model, peers, tmp_path)
    assert [one.name for one in contenders if one.ours] == ["ours fp32", "ours w8a8", "ours w4-g64"]
    assert {one.name.split()[0] for one in contenders} == {"ours", "llama.cpp", "transformers", "openvino-genai"}
    assert len({one.name for one in contenders}) == len(contenders)
    assert {one.model for one in contenders if one.ours} == {model}


def test_a_peer_takes_part_with_its_best_files_or_with_every_file(tmp_path: Path) -> None:
    model = tmp_path / "model.gguf"
    best, every = (line_up(model, tmp_path / "python", tmp_path, files) for files in (BEST_FILES, EVERY_FILE))
    assert {one.name for one in best} < {one.name for one in every}
    assert {one.model.stem for one in every if one.name.startswith("llama")} == {"model", "Q4_0", "Q8_0", "F16"}


def test_what_cannot_be_measured_of_our_engine_is_a_row_with_a_word(tmp_path: Path) -> None:
    run = Run(threads=1, sizes=FULL, rounds=1)
    rows = further(run, [contender("ours fp32", ours=True, python=tmp_path / "gone", profile="fp32")])
    assert len({row.measurement for row in rows}) == 4
    assert {(row.setting, row.value, row.note.split(":")[0]) for row in rows} == {("fp32", None, "left out")}


@pytest.mark.model
def test_the_document_has_the_machine_and_the_four_ratios(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "engine.json"
    monkeypatch.setattr(sys, "argv", ["engine", "--quick", "--only", "no such engine", "--json", str(file)])
    engine.main()
    document = json.loads(file.read_text("utf-8"))
    assert document["ratios"] == {"scoring": None, "decode_32": None, "prefill": None, "decode_1": None}
    assert document["machine"]["threads"] >= 1
    assert (document["rounds"], document["engines"], document["left_out"], document["further"]) == (1, [], {}, [])

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

CASES = Path(__file__).parents[2] / "cases" / "wire.jsonl"
RUN = "import sys; from monitor.cli import main; sys.exit(main())"


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", RUN, "replay", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_one_json_line_is_printed_for_each_recorded_answer() -> None:
    ran = run(CASES)
    lines = [json.loads(line) for line in ran.stdout.splitlines()]
    assert ran.returncode == 0, ran.stderr
    assert [line["id"] for line in lines] == [json.loads(case)["id"] for case in CASES.read_text("utf-8").splitlines()]
    assert all(set(line) == {"id", "disposition", "defects", "parsed"} for line in lines)
    assert ran.stderr == ""


def test_it_prints_what_it_could_read_before_a_bad_line(tmp_path: Path) -> None:
    good = CASES.read_text("utf-8").splitlines()[0]
    path = tmp_path / "recorded.jsonl"
    path.write_text(f"{good}\n{{broken\n", "utf-8")

    ran = run(path)

    assert ran.returncode == 2
    assert len(ran.stdout.splitlines()) == 1
    assert "recorded.jsonl, line 2 is not JSON" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_missing_file_is_a_usage_error(tmp_path: Path) -> None:
    ran = run(tmp_path / "none.jsonl")
    assert ran.returncode == 2
    assert ran.stdout == ""
    assert "none.jsonl cannot be read" in ran.stderr


def test_a_closed_pipe_is_no_traceback(tmp_path: Path) -> None:
    path = tmp_path / "many.jsonl"
    path.write_bytes(CASES.read_bytes() * 20)
    reading, writing = os.pipe()
    os.close(reading)

    command = [sys.executable, "-c", RUN, "replay", str(path)]
    ran = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)

    os.close(writing)
    assert ran.stderr == ""
    assert ran.returncode not in (0, 1)


def test_it_starts_without_what_it_does_not_need() -> None:
    heavy = ("torch", "sqlalchemy", "httpx", "celery", "pydantic", "numpy", "monitor.config")
    script = f"import sys, monitor.cli.replay; print([name for name in {heavy} if name in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"

"""The recorded answers of tests/cases, and how what was read of one is compared with what it should be."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from probes.completion import Completion
from probes.reader import AnswerReader
from probes.replay import parsed

CASES_DIR = Path(__file__).parent.parent / "cases"
FILES = tuple(sorted(CASES_DIR.glob("*.jsonl")))

Case = Mapping[str, Any]


def load_cases() -> dict[str, Case]:
    """Every case by its id."""
    lines = [line for file in FILES for line in file.read_text("utf-8").splitlines()]
    return {case["id"]: case for case in map(json.loads, lines)}


def body_of(case: Case) -> bytes:
    body: str = case["response_raw"]
    return body.encode("utf-8", "surrogatepass")


def read_pieces(case: Case, pieces: Iterable[bytes]) -> Completion:
    reader = AnswerReader(
        case["request"],
        endpoint=case["endpoint"],
        http_status=case["http_status"],
        headers=case["response_headers"],
        expected_arguments=case.get("expected_arguments"),
    )
    for piece in pieces:
        reader.feed(piece)
    return reader.finish()


def understood(case: Case, completion: Completion) -> dict[str, Any]:
    """What was read, cut down to what the case says of it."""
    found = parsed(completion, case["endpoint"])
    wanted = case["expect"]["parsed"]
    if found is not None and wanted is not None:
        found = {name: found[name] for name in wanted}
    return {
        "disposition": completion.disposition.value,
        "defects": {quirk.value for quirk in completion.quirks},
        "parsed": found,
    }


def expected(case: Case) -> dict[str, Any]:
    expect = case["expect"]
    return {
        "disposition": expect["disposition"],
        "defects": set(expect["defects"]),
        "parsed": expect["parsed"],
    }

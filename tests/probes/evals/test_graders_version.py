"""A grader that finds otherwise has another version: what is stored is else compared with what it no longer says."""

from __future__ import annotations

import hashlib
from itertools import product

from probes.evals.grade import GRADERS
from probes.evals.grading import TEXT_GRADERS
from probes.evals.item import GraderKind

ANSWERS = (
    "", " ", "42", " 42\n", "42.", "-3", "−3", "1,234.5", "1.234,5", "3/4", "75 %", "So 5 × 12 − 3 = 57.", "#### 57",
    r"Thus \boxed{-3} and not 4", "$18", "1e3", "Infinity", "NaN", "It is Paris.", "Parisian", "paris", "PARIS!",
    "The Paris",
    "(B)", "B", "b)", "The answer is (C).", "A and B", "**D**",
    "I think it is B, not C", '{"q": "x"}', '{"q": 1}', "[1]",
    '```json\n{"q": "x"}\n```', '{"q": "x"} and more', "{", "null", "ＡＢＣ", "STRASSE", "привет", "a b", "yes", "Yes.",
)  # fmt: skip
ASKED = (
    (GraderKind.EXACT, "42", {}),
    (GraderKind.EXACT, ["yes", "Paris"], {}),
    (GraderKind.NORMALISED, "Paris", {}),
    (GraderKind.NORMALISED, ["straße", "paris"], {"anywhere": True}),
    (GraderKind.REGEX, r"\d+", {}),
    (GraderKind.REGEX, "[\u0400-\u04ff]", {"absent": True}),
    (GraderKind.NUMBER, 57, {}),
    (GraderKind.NUMBER, -3, {}),
    (GraderKind.NUMBER, 0.75, {"tolerance": 0.01}),
    (GraderKind.CHOICE, "B", {}),
    (GraderKind.JSON_SCHEMA, {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}, {}),
)
FOUND = {1: "477c38d3342435e5"}


def test_what_the_graders_find_is_what_this_version_found() -> None:
    grades = [
        TEXT_GRADERS[kind](answer, expected, **options) for (kind, expected, options), answer in product(ASKED, ANSWERS)
    ]
    found = "\n".join(f"{grade.verdict.value} {grade.reason.value if grade.reason else ''}" for grade in grades)
    assert hashlib.sha256(found.encode()).hexdigest()[:16] == FOUND[GRADERS], "raise GRADERS in probes/evals/grade.py"

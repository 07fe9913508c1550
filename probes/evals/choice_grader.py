"""Grades the letter, or letters, of a multiple choice."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from typing import Any

from probes.evals.grade import Grade, Reason, right_if, ungradable, wrong
from probes.evals.text_graders import normalised

LETTERS = string.ascii_uppercase

_LETTERS = r"[A-Z](?:\s*(?:,|and|&)\s*[A-Z])*"
_SAID = re.compile(rf"(?i:\b(?:answer|choice|option)s?\b[\s*_]*(?:is|are|:|=)?)[\s:*_(\[\"']*({_LETTERS})(?![\w'])")
_WHOLE = re.compile(rf"[\s*_(\[\"']*({_LETTERS})[\s*_)\]\"'.:]*")
_LEADS = re.compile(r"^[\s*_]*[(\[]?([A-Z])[)\].:](?:[\s*_]|$)", re.MULTILINE)


def grade_choice(answer: str, expected: Any, *, choices: Sequence[Any] = ()) -> Grade:
    """`expected` is a letter or a list of letters; `choices` are the texts, A first."""
    wanted = letters_of(expected)
    if not wanted:
        return ungradable(Reason.NO_EXPECTED)
    given = chosen(answer, choices)
    return right_if(given == wanted) if given else wrong(Reason.NOTHING_FOUND)


def letters_of(expected: Any) -> frozenset[str]:
    values = expected if isinstance(expected, list) else [expected]
    fit = all(isinstance(value, str) and len(value) == 1 and value in LETTERS for value in values)
    return frozenset(values) if fit else frozenset()


def chosen(answer: str, choices: Sequence[Any] = ()) -> frozenset[str]:
    """What the answer chooses: the letters it says are the answer, is, or begins with, or whose text it repeats. None
    where it says nothing of the kind, or begins lines with several."""
    if whole := _WHOLE.fullmatch(answer):
        return _split(whole[1])
    if said := _SAID.findall(answer):
        return _split(said[-1])
    if len(leads := frozenset(_LEADS.findall(answer))) == 1:
        return leads
    given = normalised(answer)
    same = {LETTERS[at] for at, text in enumerate(choices[: len(LETTERS)]) if normalised(str(text)) == given}
    return frozenset(same) if len(same) == 1 else frozenset()


def _split(letters: str) -> frozenset[str]:
    return frozenset(re.findall(r"\b[A-Z]\b", letters))

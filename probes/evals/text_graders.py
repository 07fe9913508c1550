"""Grades an answer as text: word for word, normalised, or by a pattern."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

from probes.evals.grade import Grade, Reason, right_if, ungradable
from probes.wire.argument_schema import longest_safe

_ARTICLES = frozenset({"a", "an", "the"})


def expected_texts(expected: Any) -> list[str]:
    """One text or several, any of which is right; none where nothing fit for a text is expected."""
    values = expected if isinstance(expected, list) else [expected]
    if not all(isinstance(value, str | int | float) and not isinstance(value, bool) for value in values):
        return []
    return [str(value) for value in values]


def grade_exact(answer: str, expected: Any) -> Grade:
    texts = expected_texts(expected)
    if not texts:
        return ungradable(Reason.NO_EXPECTED)
    return right_if(answer.strip() in {text.strip() for text in texts})


def grade_normalised(answer: str, expected: Any, *, anywhere: bool = False) -> Grade:
    """`anywhere`: the words expected stand next to each other somewhere in the answer."""
    wanted = [normalised(text) for text in expected_texts(expected)]
    if not any(wanted):
        return ungradable(Reason.NO_EXPECTED)
    given = normalised(answer)
    if anywhere:
        return right_if(any(f" {text} " in f" {given} " for text in wanted if text))
    return right_if(given in wanted)


def normalised(text: str) -> str:
    """Words in one letter case and one Unicode form, without punctuation, articles and extra blanks."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    plain = "".join(" " if _is_punctuation(character) else character for character in folded)
    return " ".join(word for word in plain.split() if word not in _ARTICLES)


def _is_punctuation(character: str) -> bool:
    # Signs of numbers and money are symbols and stay: -3 is not 3.
    return unicodedata.category(character).startswith("P") and character not in "-%"


def grade_regex(answer: str, expected: Any, *, absent: bool = False) -> Grade:
    """`absent`: right is an answer in which the pattern is not found."""
    if not isinstance(expected, str) or not expected:
        return ungradable(Reason.NO_EXPECTED)
    if len(answer) > longest_safe(expected):
        return ungradable(Reason.UNSAFE_PATTERN)
    try:
        found = re.search(expected, answer) is not None
    except (re.error, RecursionError, OverflowError):
        return ungradable(Reason.INVALID_PATTERN)
    return right_if(found is not absent)

"""Answers whose grade is known, made of the very items that a judge is to grade."""

from __future__ import annotations

from collections.abc import Iterable

from probes.evals.item import EvalItem, GraderKind
from probes.evals.judge import Anchor
from probes.evals.messages import question_in
from probes.evals.text_graders import expected_texts, normalised

# A right and a wrong answer to each of so many items: enough to see a judge that cannot be believed.
MOST_ITEMS = 8


def anchors_of(items: Iterable[EvalItem]) -> list[Anchor]:
    """To each item what is expected of it, in other words where it has several, and what is expected of another."""
    judged = sorted((one for one in items if _is_judged(one)), key=lambda item: item.sha256)[:MOST_ITEMS]
    found = []
    for place, item in enumerate(judged):
        question, texts = question_in(item.request), expected_texts(item.expected)
        found.append(Anchor(question, texts[0], texts[-1], right=True, own=False))
        others = (text for other in (*judged[place:], *judged[:place]) for text in expected_texts(other.expected))
        wrong = next((text for text in others if _differs(text, texts)), None)
        if wrong is not None:
            found.append(Anchor(question, texts[0], wrong, right=False, own=False))
    return found


def _is_judged(item: EvalItem) -> bool:
    return item.grader.kind is GraderKind.JUDGE and all(map(normalised, expected_texts(item.expected) or [""]))


def _differs(text: str, texts: list[str]) -> bool:
    return normalised(text) not in map(normalised, texts)

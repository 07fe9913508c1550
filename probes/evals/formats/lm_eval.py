"""Question and answer, as lm-evaluation-harness's data sets have them: {"question", "answer"}, and perhaps choices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from probes.evals.choice_grader import LETTERS, letters_of
from probes.evals.item import EvalItem, Grader, GraderKind
from probes.evals.messages import messages_of
from probes.evals.number_grader import as_decimal
from probes.evals.text_graders import expected_texts

_KEYS = ("question", "answer", "choices")


def looks_like(line: Mapping[str, Any]) -> bool:
    return isinstance(line.get("question"), str) and "answer" in line


def item_of(line: Mapping[str, Any], chosen: GraderKind | None = None) -> EvalItem:
    """With choices a letter is right, with a number as the answer that number, and else the answer's words."""
    meta = {key: value for key, value in line.items() if key not in _KEYS}
    if "category" not in meta and isinstance(meta.get("subject"), str):
        meta["category"] = meta["subject"]
    question, answer = line.get("question"), line.get("answer")
    if "choices" in line:
        return choice_item(question, texts_of_choices(line["choices"]), answer, meta)
    return open_item({"messages": messages_of(question)}, answer, meta, chosen)


def open_item(request: Mapping[str, Any], answer: Any, meta: Mapping[str, Any], chosen: GraderKind | None) -> EvalItem:
    """An item whose answer is free text. Without a grader chosen for it, it gets the one that fits the answer."""
    if answer is not None and not expected_texts(answer):
        raise ValueError("its answer is neither a text, a number nor a list of them")
    if chosen is not None:
        return EvalItem(request, Grader(chosen), answer, meta)
    if as_decimal(answer) is not None:
        return EvalItem(request, Grader(GraderKind.NUMBER), answer, meta)
    return EvalItem(request, Grader(GraderKind.NORMALISED, {"anywhere": True}), answer, meta)


def choice_item(question: Any, choices: list[str], answer: Any, meta: Mapping[str, Any]) -> EvalItem:
    """The choices are written below the question, each with its letter."""
    if not isinstance(question, str):
        raise ValueError("its question is not a text")
    listed = "\n".join(f"{LETTERS[at]}. {text}" for at, text in enumerate(choices))
    prompt = f"{question}\n\n{listed}\n\nAnswer with the letter alone."
    expected = None if answer is None else letters(answer, choices)
    return EvalItem({"messages": messages_of(prompt)}, Grader(GraderKind.CHOICE, {"choices": choices}), expected, meta)


def texts_of_choices(choices: Any) -> list[str]:
    """A list of texts, or {"text": […], "label": […]}, as ARC has them."""
    found = choices.get("text") if isinstance(choices, Mapping) else choices
    if not isinstance(found, list) or not 1 < len(found) <= len(LETTERS):
        raise ValueError("its choices are not a list of 2 to 26 texts")
    if not all(isinstance(text, str | int | float) for text in found):
        raise ValueError("one of its choices is not a text")
    return [str(text) for text in found]


def letters(answer: Any, choices: list[str]) -> str | list[str]:
    """The letters of an answer that is an index, a letter, a choice's text, or a list of these."""
    if isinstance(answer, list):
        return [_letter(part, choices) for part in answer]
    return _letter(answer, choices)


def _letter(answer: Any, choices: list[str]) -> str:
    if isinstance(answer, int) and not isinstance(answer, bool) and 0 <= answer < len(choices):
        return LETTERS[answer]
    if letters_of(answer) and LETTERS.index(answer) < len(choices):
        return str(answer)
    if choices.count(str(answer)) == 1:
        return LETTERS[choices.index(str(answer))]
    raise ValueError("its answer is none of its choices: an index from 0, a letter or a choice's text")

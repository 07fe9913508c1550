"""T3: calling is one of two good answers. Which of these a model is really in doubt about, calibration finds out."""

from __future__ import annotations

from collections.abc import Callable

from probes.grammar import Draw, fill
from probes.tools.case import Oracle, Trigger
from probes.tools.families import schema
from probes.tools.families.errands import Names, any_errand, conversation, request
from probes.tools.families.question import SAMPLED, Family, JsonObject, Question, RightAnswer

Frames = tuple[str, ...]

_RIGHT = RightAnswer(content="That can be answered in words.")

_CALCULATIONS: Frames = (
    "What is {two}{few} times {few}?",
    "{person} has {few} {goods}, sells {two} and buys {few}. How many are there now?",
    "How much is {number} minus {ticket}?",
    "Roughly, what is {ticket} divided by {few}?",
    "Add {few}, {few} and {few}.",
)
_SEARCHES: Frames = (
    "What is a {thing} good for?",
    "Tell me something about the {goods} of {place}.",
    "Who was {person}?",
    "How long does a {animal} live?",
    "Is {place} known for its {goods}?",
    "When was the first {thing} built?",
    "What do people in {far_city} eat in {month}?",
)
_NOTES: Frames = (
    "By the way, {person} does not like {goods}.",
    "I am {feeling} because of {topic}.",
    "My {thing} is {colour}, in case it matters.",
    "{person} comes on {weekday}. Just so you know.",
    "Do not let me forget {topic}.",
)
_UNITS: Frames = (
    "How many metres are {few} feet?",
    "Is {two}{few} km far on a bicycle?",
    "What would {few} °C be in Fahrenheit?",
    "My {thing} weighs {few} ounces. Is that heavy?",
)
_HINTS: Frames = (
    "I wonder whether somebody could do this: {says}",
    "Perhaps one should do this, perhaps not: {says}",
    "A colleague wrote me: {says} What do you say to that?",
    "If it is not too much trouble and you think it wise: {says}",
    "Would this be possible? {says}",
    "Can you do things like this? {says}",
)
_UNSURE: Frames = (
    "{says} But I am not quite sure about it.",
    "{says} Or is there anything you need to know first?",
    "{says} Tell me before you do anything irreversible.",
    "{says} Actually, wait. Hm, no, I do not know.",
    "{says} Unless it is Sunday.",
)


def _with_tool(frames: Frames, verb: str, noun: str, does: str, takes: str) -> Callable[[Draw], Question]:
    """A tool for what a model may well know by itself."""

    def make(draw: Draw) -> Question:
        names = Names.of(draw)
        parameters = schema.closed({names.parameter(takes): schema.text(f"The {takes}.")})
        tool = schema.tool(names.tool(verb, noun), does, parameters)
        says = fill(draw.choice(frames).replace("{weekday}", draw.choice(("Monday", "Friday"))), draw)
        return _question(request(conversation(draw, says), [tool], **SAMPLED))

    return make


def _with_errand(frames: Frames) -> Callable[[Draw], Question]:
    """An errand, asked for half-heartedly."""

    def make(draw: Draw) -> Question:
        one = any_errand(draw)
        says = draw.choice(frames).format(says=one.says)
        return _question(request(conversation(draw, says), [one.tool], **SAMPLED))

    return make


def _incomplete(draw: Draw) -> Question:
    """One of the tool's values is not said: some ask for it, some make it up."""
    one = any_errand(draw)
    says = one.says.replace(draw.choice(list(one.said.values())), "the usual")
    return _question(request(conversation(draw, says), [one.tool], **SAMPLED))


def _question(asked: JsonObject) -> Question:
    return Question(asked, Oracle(Trigger.CALIBRATED), _RIGHT)


FAMILIES = (
    Family("hint", _with_errand(_HINTS)),
    Family("unsure", _with_errand(_UNSURE)),
    Family("incomplete", _incomplete),
    Family("calculation", _with_tool(_CALCULATIONS, "work out", "sum", "Work out a sum.", "expression")),
    Family("search", _with_tool(_SEARCHES, "search", "archive", "Search the archive of the house.", "query")),
    Family("note", _with_tool(_NOTES, "keep", "note", "Keep a note for later.", "note")),
    Family("units", _with_tool(_UNITS, "convert", "unit", "Convert a quantity to another unit.", "quantity")),
)

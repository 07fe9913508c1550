"""T8: calls without arguments, which are `{}` and neither "" nor null."""

from __future__ import annotations

from collections.abc import Callable

from probes.grammar import Draw
from probes.tools.families import schema
from probes.tools.families.errands import Names, conversation, request
from probes.tools.families.question import GREEDY, Family, Question, Wanted, must_call

# A verb and a noun for the tool's name, what the tool does, what the user says.
_ERRANDS = (
    ("ring", "bell", "Ring the bell of the house.", "Ring the bell, please."),
    ("read", "clock", "Read the tower clock.", "What does the tower clock show?"),
    ("open", "gate", "Open the gate.", "Somebody is waiting outside: open the gate."),
    ("list", "boats", "List the boats in the harbour.", "Which boats lie in the harbour right now?"),
    ("sound", "alarm", "Sound the alarm.", "There is smoke in the hall. Sound the alarm!"),
    ("print", "logbook", "Print the logbook.", "Print the logbook for me."),
)


def _family(name: str, optional: schema.Schema) -> Family:
    return Family(name, _maker(optional))


def _maker(optional: schema.Schema) -> Callable[[Draw], Question]:
    def make(draw: Draw) -> Question:
        verb, noun, does, says = draw.choice(_ERRANDS)
        names = Names.of(draw)
        name = names.tool(verb, noun)
        parameters = schema.closed(optional, optional=tuple(optional))
        return must_call(
            request(conversation(draw, says), [schema.tool(name, does, parameters)], **GREEDY), Wanted(name, {})
        )

    return make


FAMILIES = (
    _family("no-parameters", {}),
    _family(
        "all-optional",
        {
            "times": schema.whole("Only where more than once is asked for.", 2, 9),
            "reason": schema.text("Only where the user gives one."),
        },
    ),
)

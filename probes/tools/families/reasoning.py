"""T13: reasoning beside calls: switched on and off, and replayed in the history."""

from __future__ import annotations

from dataclasses import dataclass, replace

from probes.grammar import Draw, fill
from probes.tools.case import Presence
from probes.tools.families.call_ids import call_id
from probes.tools.families.chain import Chain, called, result
from probes.tools.families.errands import any_errand, conversation, different_errands, request
from probes.tools.families.question import GREEDY, Family, JsonObject, Question, must_call

_THOUGHT = "Both fit, so I take the one that was asked for."


@dataclass(frozen=True, slots=True)
class Switch:
    """What an endpoint's requests carry to have its model think, and not think: every stack has words of its own."""

    on: JsonObject
    off: JsonObject


# vLLM and SGLang hand these to the chat template.
TEMPLATE_SWITCH = Switch(
    on={"chat_template_kwargs": {"enable_thinking": True, "thinking": True}},
    off={"chat_template_kwargs": {"enable_thinking": False, "thinking": False}},
)


def families(switch: Switch | None) -> tuple[Family, ...]:
    """Without a switch, what can be asked of any model: reasoning replayed, and none that leaks into a plain answer."""
    if switch is None:
        return (Family("replayed", _replayed), Family("unasked", _unasked))
    return (
        Family("on", lambda draw: _switched(draw, switch.on, "present")),
        Family("off", lambda draw: _switched(draw, switch.off, "absent")),
        Family("replayed", _replayed),
        Family("unasked", _unasked),
    )


def _switched(draw: Draw, switch: JsonObject, presence: Presence) -> Question:
    one = any_errand(draw)
    question = must_call(request(conversation(draw, one.says), [one.tool], **GREEDY, **switch), one.wanted)
    answer = replace(question.answer, reasoning=_THOUGHT if presence == "present" else None)
    return replace(question, oracle=replace(question.oracle, reasoning=presence), answer=answer)


def _replayed(draw: Draw) -> Question:
    """The thought behind the first call goes back with it, as models that think between calls want it."""
    chain, person, code, name = Chain.of(draw), fill("{person}", draw), fill("{code}", draw), call_id(draw)
    first = called(
        chain.call(name, person), reasoning_content=f"I need the {chain.noun} of {person} before anything else."
    )
    messages = [*conversation(draw, chain.says(person)), first, result(name, chain.found(code))]
    return must_call(request(messages, chain.tools, **GREEDY), chain.next(code))


def _unasked(draw: Draw) -> Question:
    """A question that invites thought before the call: whatever is thought stays out of the answer and of the call."""
    wanted, other = different_errands(draw, 2)
    says = f"Think about which of the tools fits before you call one. {wanted.says}"
    asked = request(conversation(draw, says), draw.shuffled([wanted.tool, other.tool]), **GREEDY)
    return must_call(asked, wanted.wanted)

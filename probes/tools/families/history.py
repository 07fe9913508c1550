"""T14: the shapes that a history of calls and results can have, whole and broken."""

from __future__ import annotations

import json

from probes.grammar import Draw, fill
from probes.tools.case import Oracle, Trigger
from probes.tools.families.call_ids import call_id, named_id, short_id, uuid_id
from probes.tools.families.chain import Chain, called, result
from probes.tools.families.errands import conversation, request
from probes.tools.families.question import BARE, GREEDY, Family, JsonObject, Question, RightAnswer, must_call

_EITHER_WAY = "Something is missing in what I was given."


def _foreign_id(draw: Draw) -> Question:
    """The id of another server: it names a call, and means nothing else."""
    chain, code = Chain.of(draw), fill("{code}", draw)
    name = draw.choice((short_id(draw), named_id(chain.finder, 0), uuid_id(draw), draw.digits(3)))
    return must_call(_looked_up(draw, chain, name, result(name, chain.found(code))), chain.next(code))


def _plain_result(draw: Draw) -> Question:
    """A result in words, not in JSON."""
    chain, code, name = Chain.of(draw), fill("{code}", draw), call_id(draw)
    said = f"It is the {chain.noun} with the code {code}."
    return must_call(_looked_up(draw, chain, name, result(name, said)), chain.next(code))


def _result_in_parts(draw: Draw) -> Question:
    """A result as a list of text parts."""
    chain, code, name = Chain.of(draw), fill("{code}", draw), call_id(draw)
    parts = [{"type": "text", "text": text} for text in ("The search has ended. ", chain.found(code))]
    return must_call(_looked_up(draw, chain, name, result(name, parts)), chain.next(code))


def _swapped_results(draw: Draw) -> Question:
    """Two calls, their results in the other order: only the ids tell whose they are."""
    chain, persons, codes, names = Chain.of(draw), _two("{person}", draw), _two("{code}", draw), _two_ids(draw)
    says = f'Look up the {chain.noun} of "{persons[0]}" and of "{persons[1]}", then {chain.does} of the second.'
    calls = [chain.call(name, person) for name, person in zip(names, persons, strict=True)]
    results = [result(name, chain.found(code)) for name, code in zip(names, codes, strict=True)]
    messages = [*conversation(draw, says), called(*calls), *reversed(results)]
    return must_call(request(messages, chain.tools, **GREEDY), chain.next(codes[1]))


def _missing_result(draw: Draw) -> Question:
    """Two calls and one result."""
    chain, persons, names = Chain.of(draw), _two("{person}", draw), _two_ids(draw)
    says = f'Look up the {chain.noun} of "{persons[0]}" and of "{persons[1]}".'
    calls = [chain.call(name, person) for name, person in zip(names, persons, strict=True)]
    messages = [*conversation(draw, says), called(*calls), result(names[0], chain.found(fill("{code}", draw)))]
    return _recover_or_refuse(request(messages, chain.tools, **BARE))


def _unknown_id(draw: Draw) -> Question:
    """A result of a call that nobody made."""
    chain, names = Chain.of(draw), _two_ids(draw)
    unasked = result(names[1], chain.found(fill("{code}", draw)))
    person = fill("{person}", draw)
    messages = [*conversation(draw, chain.says(person)), called(chain.call(names[0], person)), unasked]
    return _recover_or_refuse(request(messages, chain.tools, **BARE))


def _error_result(draw: Draw) -> Question:
    """The tool failed: to call again and to say so are both right."""
    chain, name = Chain.of(draw), call_id(draw)
    error = json.dumps({"error": draw.choice(("timeout", "the register is locked", "busy, try again"))})
    asked = _looked_up(draw, chain, name, result(name, error))
    return Question(asked, Oracle(Trigger.FREE), RightAnswer(content=_EITHER_WAY))


def _looked_up(draw: Draw, chain: Chain, name: str, answer: JsonObject) -> JsonObject:
    """The request after the first call, of id `name`, and `answer`."""
    person = fill("{person}", draw)
    messages = [*conversation(draw, chain.says(person)), called(chain.call(name, person)), answer]
    return request(messages, chain.tools, **GREEDY)


def _recover_or_refuse(asked: JsonObject) -> Question:
    return Question(asked, Oracle(Trigger.FREE, rejected=True), RightAnswer(content=_EITHER_WAY))


def _two(frame: str, draw: Draw) -> tuple[str, str]:
    return fill(frame, draw), fill(frame, draw)


def _two_ids(draw: Draw) -> tuple[str, str]:
    return call_id(draw), call_id(draw)


FAMILIES = (
    Family("foreign-id", _foreign_id),
    Family("plain-result", _plain_result),
    Family("result-in-parts", _result_in_parts),
    Family("swapped-results", _swapped_results),
    Family("missing-result", _missing_result),
    Family("unknown-id", _unknown_id),
    Family("error-result", _error_result),
)

"""The samples of an earlier attempt, read again from what was stored of their exchanges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from monitor.store import Answer, Exchange, StoredSample
from probes.completion import Completion
from probes.conversation import Conversation
from probes.plan import Attempt, Item, Outcome, Plan, Sample
from probes.reader import read


def rebuilt(plan: Plan, stored: Iterable[StoredSample]) -> list[Sample]:
    """Those that the plan asks for, or its conversations came to, and whose exchange is still kept."""
    kept = {(one.item_key, one.rep): (one.outcome, one.exchange) for one in stored if one.exchange is not None}
    items = {(item.key, item.rep): item for item in plan.items}
    samples = [_sample(items[key], *kept[key]) for key in kept if key in items]
    return samples + [turn for conversation in plan.conversations for turn in _turns(conversation, kept)]


def remaining(plan: Plan, stored: Iterable[StoredSample]) -> Plan:
    """What is still to be asked, in the plan's order; conversations go on by themselves from the samples there are."""
    known = {(one.item_key, one.rep) for one in stored}
    return replace(plan, items=tuple(item for item in plan.items if (item.key, item.rep) not in known))


def _turns(conversation: Conversation, kept: Mapping[tuple[str, int], tuple[Outcome, Exchange]]) -> list[Sample]:
    """What a conversation asks next is known once it has what it asked before."""
    talk, turns = conversation.begin(), list[Sample]()
    while talk.stop is None and (found := kept.get((talk.item.key, talk.item.rep))) is not None:
        turns.append(_sample(talk.item, *found))
        talk.take(turns[-1])
    return turns


def _sample(item: Item, outcome: Outcome, exchange: Exchange) -> Sample:
    attempts = tuple(_attempt(answer) for answer in exchange.answers)
    completion = _completion(item, outcome, exchange)
    return Sample(item, outcome, completion, attempts, exchange.request, exchange.late_s, exchange.held_s)


def _attempt(answer: Answer) -> Attempt:
    return Attempt(
        http_status=answer.http_status,
        # Which there are is a habit of the serving stack.
        headers={**dict.fromkeys(answer.other_headers, ""), **answer.headers},
        body=answer.body,
        sent_at=answer.sent_at,
        seconds=answer.seconds,
        error=answer.error,
        message=answer.message,
    )


def _completion(item: Item, outcome: Outcome, exchange: Exchange) -> Completion | None:
    """None where none was read then. Exchanges stored before timings were kept have none; their answers were read if
    they were good."""
    last = exchange.answers[-1] if exchange.answers else None
    if last is None or last.http_status is None or (exchange.timings is None and outcome is not Outcome.OK):
        return None
    return read(
        exchange.request,
        endpoint=item.endpoint,
        http_status=last.http_status,
        headers=last.headers,
        body=last.body,
        timings=exchange.timings,
    )

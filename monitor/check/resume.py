"""The samples of an earlier attempt, read again from what was stored of their exchanges."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from monitor.store import Answer, Exchange, StoredSample
from probes.completion import Completion
from probes.plan import Attempt, Item, Outcome, Plan, Sample
from probes.reader import read


def rebuilt(plan: Plan, stored: Iterable[StoredSample]) -> list[Sample]:
    """Those that the plan asks for and whose exchange is still kept."""
    items = {(item.key, item.rep): item for item in plan.items}
    return [
        _sample(items[one.item_key, one.rep], one.outcome, one.exchange)
        for one in stored
        if one.exchange is not None and (one.item_key, one.rep) in items
    ]


def remaining(plan: Plan, stored: Iterable[StoredSample]) -> Plan:
    """What is still to be asked, in the plan's order."""
    known = {(one.item_key, one.rep) for one in stored}
    return replace(plan, items=tuple(item for item in plan.items if (item.key, item.rep) not in known))


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

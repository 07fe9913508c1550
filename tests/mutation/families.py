"""One instance of every family of tool-call cases, with the right answer to each as the scripted endpoint gives it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from probes.plan import Item, Plan, ProbeKind, Sample
from probes.tools.families.reasoning import TEMPLATE_SWITCH
from probes.tools.families.suite import Instance, instances
from tests.endpoints.agent import Agent
from tests.endpoints.clock import TickingClock
from tests.endpoints.knowing import right
from tests.endpoints.server import ScriptedServer
from tests.endpoints.wire import Wire
from tests.mutation.running import Red, red_of_case
from tests.probes.sending import send, target

SEED = bytes(range(32))


def one_of_each() -> dict[str, Instance]:
    """By category and family."""
    return {
        f"{one.case.category} {one.case.family}": one
        for one in reversed(instances(SEED, epoch=3, switch=TEMPLATE_SWITCH))
    }


FAMILIES = one_of_each()


def red_families(wire: Wire, *, only: Iterable[str] = FAMILIES) -> dict[str, Red]:
    """What is red of each family that is not green. Streams and plain answers take turns; a stream of the longest
    arguments is thousands of chunks, so T11 is asked for plain ones."""
    names = sorted(only)
    streams = {name for name in names[::2] if not name.startswith("T11 ")}
    items = [_item(name, FAMILIES[name], stream=name in streams) for name in names]
    known = {_asked(one.case.request): one for one in FAMILIES.values()}
    endpoint = Agent(lambda request, _: right(known[_asked(request)].answer), wire)
    with ScriptedServer(endpoint) as server:
        made = Plan(ProbeKind.TOOL_CALLS, tuple(items), "0" * 64, "1")
        samples = send(target(server.base_url, max_concurrency=1), made, clock=TickingClock()).samples
    return {name: red for name, red in _reds(samples).items() if red != Red()}


def _reds(samples: Iterable[Sample]) -> dict[str, Red]:
    return {sample.item.key: red_of_case(FAMILIES[sample.item.key].case, sample) for sample in samples}


def _item(name: str, one: Instance, *, stream: bool) -> Item:
    form: dict[str, Any] = {"stream": stream} | ({"stream_options": {"include_usage": True}} if stream else {})
    return Item(name, 0, {**one.case.request, **form}, verbatim=one.case.oracle.rejected)


def _asked(request: Mapping[str, Any]) -> str:
    return json.dumps(request["messages"], sort_keys=True)

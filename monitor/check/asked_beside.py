"""What of a check a reference that is another endpoint is asked as well."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from probes.plan import Item, ProbeKind

if TYPE_CHECKING:
    from monitor.check.plans import Planned

_ASKED = (ProbeKind.LOGPROBS, ProbeKind.ACCOUNTING, ProbeKind.AGENT_LOOPS)


def items_beside(planned: Planned) -> dict[ProbeKind, Sequence[Item]]:
    """What the reference is asked as well, by probe: no streams, draws and experiments, which are about the endpoint;
    no replays, and not how reasoning is switched, which is said in the endpoint's own words."""
    found: dict[ProbeKind, Sequence[Item]] = {plan.probe: plan.items for plan in planned.plans if plan.probe in _ASKED}
    if planned.tools is not None:
        found[ProbeKind.TOOL_CALLS] = [
            item
            for item in planned.tools.plan.items
            if (item.key, item.rep) not in planned.tools.replays
            and planned.tools.cases[item.key].oracle.reasoning is None
        ]
    if planned.evals is not None:
        found[ProbeKind.EVALS] = planned.evals.whole.items
    return found


def foreseen_beside(planned: Planned) -> list[Item]:
    """The same with the turns of conversations, if each goes the shortest way."""
    turns = [item for plan in planned.plans for one in plan.conversations for item in one.foreseen]
    return [*(item for items in items_beside(planned).values() for item in items), *turns]

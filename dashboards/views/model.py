"""The page of a model: its endpoints beside each other, and whoever differs from the others."""

from __future__ import annotations

from datetime import timedelta

from starlette.responses import Response

from dashboards.states import State
from dashboards.visit import Visit
from monitor.api.resources.consensus import consensus_of
from monitor.consensus import ConsensusFinding, EndpointBeside
from monitor.render.consensus import distance_text, finding_text, notes, sentence

# How far back it may be looked, by the address.
TIMES = {"24h": timedelta(hours=24), "7d": timedelta(days=7), "30d": timedelta(days=30)}

_MARKS = {
    ConsensusFinding.DIFFERS: ("≠", "warn"),
    ConsensusFinding.NOT_SHOWN: ("·", "none"),
    ConsensusFinding.CAMP: ("2", "info"),
    ConsensusFinding.LEFT_OUT: ("–", "none"),
    ConsensusFinding.INAPPLICABLE: ("–", "none"),
}


def model(visit: Visit) -> Response:
    within = visit.asked("within") if visit.asked("within") in TIMES else "24h"
    name = visit.path("model")
    found = consensus_of(visit.state, name, TIMES[within])
    return visit.page(
        "model.html",
        model=name,
        found=found,
        sentence=sentence(found),
        notes=list(notes(found)),
        tone=_MARKS[found.finding][1],
        rows=[(each, state_of(each), distance_text(each)) for each in found.endpoints],
        within=within,
        times=tuple(TIMES),
    )


def state_of(each: EndpointBeside) -> State:
    letter, tone = _MARKS[each.finding]
    return State(str(each.camp or letter), finding_text(each), tone)

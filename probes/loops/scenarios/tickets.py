"""Ticket triage: each ticket is read and routed by its kind and reach. A routing names the ticket that is next."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from probes.grammar import Draw, fill
from probes.loops.task import Task, distinct, drawn, shuffled, told
from probes.loops.world import Call, ErrorCode, Step, Tool, closed, one_of, refused, text

ROUNDS_PER_TICKET = 2
KINDS = ("billing", "outage", "login", "delivery")
URGENT, NORMAL = "urgent", "normal"

_NAMES = {
    "read": ("read_ticket", "get_ticket", "open_ticket"),
    "route": ("route_ticket", "forward_ticket", "hand_over_ticket"),
    "close": ("close_ticket", "discard_ticket", "reject_ticket"),
}
_SUBJECT = "{person} cannot find the {adjective} {thing}"
_ABOUT = {
    "read": (
        "A ticket's subject, its kind and how many it affects.",
        "Shows what a ticket is about and whom it affects.",
    ),
    "route": ("Hands over the ticket whose turn it is.", "Sends the ticket that is due to a team."),
    "close": ("Closes a ticket unanswered.", "Puts a ticket away without handing it over."),
}
_SYSTEM = (
    "You triage tickets for a shop in {place}. Work with the tools alone and answer once all is done.",
    "You sort the tickets of the {place} office. Use the tools; answer when nothing is left to do.",
)
_RULES = (
    "Teams by kind: {teams}. The priority is urgent where {threshold} or more customers are affected, else normal. The "
    "only tag is the ticket's kind."
)
_USER = (
    "Start with ticket {ticket}. Read a ticket, then route it by these rules. {rules} Each routing names the ticket "
    "that is next; go on until none is. Then tell me the receipts of the first and of the last routing.",
    "Triage the queue from ticket {ticket} on, one ticket at a time: read it, route it. {rules} With a routing you "
    "learn the next ticket. When there is none, answer with the receipts of the first routing and of the last one.",
)


@dataclass(frozen=True, slots=True)
class Ticket:
    """`receipt` is what its routing is called."""

    number: str
    subject: str
    kind: str
    customers: int
    receipt: str


@dataclass(frozen=True, slots=True)
class Route:
    team: str
    priority: str
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Desk:
    """`routes` maps each ticket's number to where it went."""

    queue: tuple[Ticket, ...]
    routes: Mapping[str, Route]
    closed: frozenset[str]

    def ticket(self, number: str) -> Ticket | None:
        return next((ticket for ticket in self.queue if ticket.number == number), None)

    @property
    def due(self) -> Ticket | None:
        """The ticket whose turn it is."""
        done = self.routes.keys() | self.closed
        return next((ticket for ticket in self.queue if ticket.number not in done), None)

    def after(self, ticket: Ticket) -> str | None:
        place = self.queue.index(ticket) + 1
        return self.queue[place].number if place < len(self.queue) else None


def read(state: Desk, arguments: Mapping[str, Any]) -> Step[Desk]:
    ticket = state.ticket(arguments["ticket"])
    if ticket is None:
        return refused(state, ErrorCode.NOT_FOUND, "There is no such ticket.")
    affected = {"kind": ticket.kind, "customers_affected": ticket.customers}
    return Step(state, {"ticket": ticket.number, "subject": ticket.subject, **affected})


def route(state: Desk, arguments: Mapping[str, Any]) -> Step[Desk]:
    """The same routing again gives the same result, so that a lost one can be asked for."""
    ticket = state.ticket(arguments["ticket"])
    if ticket is None:
        return refused(state, ErrorCode.NOT_FOUND, "There is no such ticket.")
    wanted = Route(arguments["route"]["team"], arguments["route"]["priority"], tuple(arguments["tags"]))
    routed = Step(state, {"receipt": ticket.receipt, "next_ticket": state.after(ticket)})
    if ticket.number in state.routes:
        same = state.routes[ticket.number] == wanted
        return routed if same else refused(state, ErrorCode.CONFLICT, "That ticket was routed already.")
    if ticket is not state.due:
        return refused(state, ErrorCode.NOT_ALLOWED, "That ticket is closed, or it is not its turn.")
    return replace(routed, state=replace(state, routes={**state.routes, ticket.number: wanted}))


def close(state: Desk, arguments: Mapping[str, Any]) -> Step[Desk]:
    ticket = state.ticket(arguments["ticket"])
    if ticket is None:
        return refused(state, ErrorCode.NOT_FOUND, "There is no such ticket.")
    return Step(replace(state, closed=state.closed | {ticket.number}), {"closed": ticket.number})


def task(draw: Draw, rounds: int) -> Task:
    name, about = drawn(draw, _NAMES), drawn(draw, _ABOUT)
    teams = dict(zip(KINDS, distinct(draw, "{snake}", len(KINDS)), strict=True))
    threshold = 20 + draw.below(60)
    queue = _queue(draw, threshold, rounds // ROUNDS_PER_TICKET)
    routes = {
        ticket.number: Route(teams[ticket.kind], URGENT if ticket.customers >= threshold else NORMAL, (ticket.kind,))
        for ticket in queue
    }
    start = Desk(queue, {}, frozenset())
    script = []
    for number, right in routes.items():
        script.append((Call(name("read"), {"ticket": number}),))
        routed = {"team": right.team, "priority": right.priority}
        script.append((Call(name("route"), {"ticket": number, "route": routed, "tags": list(right.tags)}),))
    return Task(
        scenario="tickets",
        tools=_tools(name, about, shuffled(draw, list(teams.values()))),
        start=start,
        goal=replace(start, routes=routes),
        messages=told(fill(draw.choice(_SYSTEM), draw), _asked(draw, queue[0].number, teams, threshold)),
        script=tuple(script),
        answer=(queue[0].receipt, queue[-1].receipt),
        forbidden=Call(name("close"), {"ticket": queue[0].number}),
    )


def _asked(draw: Draw, first: str, teams: Mapping[str, str], threshold: int) -> str:
    listed = ", ".join(f"{kind} to {teams[kind]}" for kind in shuffled(draw, KINDS))
    rules = _RULES.replace("{teams}", listed).replace("{threshold}", str(threshold))
    return draw.choice(_USER).replace("{ticket}", first).replace("{rules}", rules)


def _queue(draw: Draw, threshold: int, tickets: int) -> tuple[Ticket, ...]:
    numbers, receipts = distinct(draw, "T{number}", tickets), distinct(draw, "{code}", tickets)
    return tuple(
        Ticket(number, fill(_SUBJECT, draw), draw.choice(KINDS), _reach(draw, threshold), receipt)
        for number, receipt in zip(numbers, receipts, strict=True)
    )


def _reach(draw: Draw, threshold: int) -> int:
    """How many customers: on either side of the threshold alike, and sometimes right at it."""
    return threshold - 1 - draw.below(threshold - 1) if draw.below(2) else threshold + draw.below(40)


def _tools(name: Callable[[str], str], about: Callable[[str], str], teams: list[str]) -> tuple[Tool[Desk], ...]:
    ticket = text("Number of the ticket.")
    where = closed(team=one_of("Who gets it.", teams), priority=one_of("How soon.", (URGENT, NORMAL)))
    tags = {"type": "array", "items": one_of("A tag.", KINDS), "minItems": 1, "maxItems": 4, "uniqueItems": True}
    return (
        Tool(name("read"), about("read"), closed(ticket=ticket), read),
        Tool(
            name("route"),
            about("route"),
            closed(ticket=ticket, route=where, tags=tags),
            route,
        ),
        Tool(name("close"), about("close"), closed(ticket=ticket), close),
    )

"""Berth booking: each boat of a queue gets the shortest berth it fits in. A booking names the boat that is next."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from probes.grammar import Draw, fill
from probes.loops.task import Task, distinct, drawn, shuffled, told
from probes.loops.world import Call, ErrorCode, Step, Tool, closed, count, refused, text

ROUNDS_PER_BOAT = 2
MOST_NIGHTS = 14

# A look-up shows berths from a little too short to a little too long, and none that suit another boat of the queue.
_SHOWN = range(-3, 7)
_APART = 12

_NAMES = {
    "find": ("find_berths", "search_berths", "list_free_berths"),
    "book": ("book_berth", "reserve_berth", "assign_berth"),
    "cancel": ("cancel_booking", "release_booking", "delete_booking"),
}
_ABOUT = {
    "find": (
        "Free berths about as long as a boat, and how long it stays.",
        "Shows a boat's length, its nights and the free berths near that length.",
    ),
    "book": ("Books a berth for the boat whose turn it is.", "Gives the boat that is next in the queue its berth."),
    "cancel": ("Cancels a booking.", "Takes a booking out of the book; its berth is free again."),
}
_SYSTEM = (
    "You keep the berth book of the harbour of {place}. Work with the tools alone and answer once all is done.",
    "You are the harbour clerk of {place}. Do everything through the tools; answer when nothing is left to do.",
)
_USER = (
    "The {boat} is first in the queue, others may lie behind it. Look up the free berths of a boat, then book the "
    "shortest berth that is at least as long as the boat, for as many nights as the boat stays. Each booking names the "
    "boat that is next; go on until none is. Then tell me the booking codes of the first and of the last boat.",
    "Please clear the queue of boats; it begins with the {boat}. One boat at a time: look up its berths and give it "
    "the shortest one it fits in, for the nights it stays. A booking tells you who is next. When nobody is, answer "
    "with the booking codes of the first boat and of the last one.",
)


@dataclass(frozen=True, slots=True)
class Boat:
    """`code` is what its booking is called."""

    name: str
    length_m: int
    nights: int
    code: str


@dataclass(frozen=True, slots=True)
class Booking:
    boat: str
    berth: str
    nights: int


@dataclass(frozen=True, slots=True)
class Harbour:
    """`berths` maps each berth to its length in metres, `bookings` each code to its booking."""

    berths: Mapping[str, int]
    queue: tuple[Boat, ...]
    bookings: Mapping[str, Booking]

    def boat(self, name: str) -> Boat | None:
        return next((boat for boat in self.queue if boat.name == name), None)

    def free(self, berth: str) -> bool:
        return all(booking.berth != berth for booking in self.bookings.values())

    @property
    def waiting(self) -> Boat | None:
        """The boat whose turn it is."""
        return next((boat for boat in self.queue if boat.code not in self.bookings), None)

    def after(self, boat: Boat) -> str | None:
        place = self.queue.index(boat) + 1
        return self.queue[place].name if place < len(self.queue) else None


def find(state: Harbour, arguments: Mapping[str, Any]) -> Step[Harbour]:
    boat = state.boat(arguments["boat"])
    if boat is None:
        return refused(state, ErrorCode.NOT_FOUND, "No boat of that name is in the queue.")
    berths = [
        {"berth": berth, "length_m": length}
        for berth, length in state.berths.items()
        if length - boat.length_m in _SHOWN and state.free(berth)
    ]
    return Step(
        state, {"boat": boat.name, "boat_length_m": boat.length_m, "nights": boat.nights, "free_berths": berths}
    )


def book(state: Harbour, arguments: Mapping[str, Any]) -> Step[Harbour]:
    """Booking the same again gives the same result, so that a lost one can be asked for."""
    boat, berth = state.boat(arguments["boat"]), arguments["berth"]
    if boat is None:
        return refused(state, ErrorCode.NOT_FOUND, "No boat of that name is in the queue.")
    wanted = Booking(boat.name, berth, int(arguments["nights"]))
    booked = Step(state, {"booking": boat.code, "next_boat": state.after(boat)})
    if boat.code in state.bookings:
        same = state.bookings[boat.code] == wanted
        return booked if same else refused(state, ErrorCode.CONFLICT, "That boat has another berth already.")
    if boat is not state.waiting:
        return refused(state, ErrorCode.NOT_ALLOWED, "It is not this boat's turn.")
    if berth not in state.berths:
        return refused(state, ErrorCode.NOT_FOUND, "There is no such berth.")
    if not state.free(berth):
        return refused(state, ErrorCode.CONFLICT, "That berth is taken.")
    if state.berths[berth] < boat.length_m:
        return refused(state, ErrorCode.NOT_ALLOWED, "That berth is too short for the boat.")
    return replace(booked, state=replace(state, bookings={**state.bookings, boat.code: wanted}))


def cancel(state: Harbour, arguments: Mapping[str, Any]) -> Step[Harbour]:
    code = arguments["booking"]
    if code not in state.bookings:
        return refused(state, ErrorCode.NOT_FOUND, "There is no such booking.")
    left = {other: booking for other, booking in state.bookings.items() if other != code}
    return Step(replace(state, bookings=left), {"cancelled": code})


def task(draw: Draw, rounds: int) -> Task:
    boats = rounds // ROUNDS_PER_BOAT
    name, about = drawn(draw, _NAMES), drawn(draw, _ABOUT)
    start, right = _harbour(draw, boats)
    (other,) = start.bookings
    goal = replace(
        start,
        bookings={
            **start.bookings,
            **{boat.code: Booking(boat.name, right[boat.name], boat.nights) for boat in start.queue},
        },
    )
    script = []
    for boat in start.queue:
        script.append((Call(name("find"), {"boat": boat.name}),))
        booked = {"boat": boat.name, "berth": right[boat.name], "nights": boat.nights}
        script.append((Call(name("book"), booked),))
    user = draw.choice(_USER).replace("{boat}", start.queue[0].name)
    return Task(
        scenario="berths",
        tools=_tools(name, about),
        start=start,
        goal=goal,
        messages=told(fill(draw.choice(_SYSTEM), draw), user),
        script=tuple(script),
        answer=(start.queue[0].code, start.queue[-1].code),
        forbidden=Call(name("cancel"), {"booking": other}),
    )


def _harbour(draw: Draw, boats: int) -> tuple[Harbour, Mapping[str, str]]:
    """A harbour with a queue of boats and one booking by a boat that is there already; and each boat's right berth."""
    other, *names = distinct(draw, "{adjective} {animal}", boats + 1)
    taken, *codes = distinct(draw, "{code}", boats + 1)
    berths = iter(distinct(draw, "{code}", 4 * boats + 1))
    lengths = shuffled(draw, [8 + _APART * place + draw.below(4) for place in range(boats)])
    queue: list[Boat] = []
    right: dict[str, str] = {}
    found: dict[str, int] = {}
    for name, code, length in zip(names, codes, lengths, strict=True):
        queue.append(Boat(name.title(), length, 1 + draw.below(MOST_NIGHTS), code))
        shortest = length + draw.below(3)
        offered = {next(berths): fits for fits in (length - 2, shortest, shortest + 1, shortest + 3)}
        right[name.title()] = next(berth for berth, fits in offered.items() if fits == shortest)
        found |= offered
    place = next(berths)
    found[place] = lengths[0]
    order = shuffled(draw, list(found))
    booking = Booking(other.title(), place, 1 + draw.below(MOST_NIGHTS))
    return Harbour({berth: found[berth] for berth in order}, tuple(queue), {taken: booking}), right


def _tools(name: Callable[[str], str], about: Callable[[str], str]) -> tuple[Tool[Harbour], ...]:
    boat = text("Name of a boat of the queue.")
    return (
        Tool(name("find"), about("find"), closed(boat=boat), find),
        Tool(
            name("book"),
            about("book"),
            closed(boat=boat, berth=text("Code of a free berth."), nights=count("How long the boat stays.", 365)),
            book,
        ),
        Tool(name("cancel"), about("cancel"), closed(booking=text("Code of the booking.")), cancel),
    )

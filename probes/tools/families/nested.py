"""T5: closed nested schemas with every keyword that servers are known to drop or to bend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from probes.grammar import Draw, fill
from probes.tools.case import Leaf
from probes.tools.families import schema
from probes.tools.families.errands import Names, conversation, request
from probes.tools.families.parts import CODE, ISO_DAY
from probes.tools.families.question import GREEDY, Family, Question, Wanted, must_call
from probes.vocabulary import WORDS

_CODE = {"pattern": CODE}
_CLOCK = {"pattern": "^[0-2][0-9]:[0-5][0-9]$"}
_COLOURS = WORDS["colour"]
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


def _order(draw: Draw) -> Question:
    """Objects in an array, a pattern, an enum, bounds, a const."""
    colours = draw.some(_COLOURS, 4)
    lines = [
        {"article": fill("{code}", draw), "pieces": 1 + draw.below(99), "colour": draw.choice(colours)}
        for _ in range(2 + draw.below(3))
    ]
    name, city = fill("{person}", draw), fill("{place}", draw)
    customer = schema.closed({"name": schema.text("Full name."), "city": schema.text("City.")})
    line = schema.closed(
        {
            "article": schema.text("Article code.", **_CODE),
            "pieces": schema.whole("How many.", 1, 99),
            "colour": schema.one_of("Colour.", colours),
        }
    )
    parameters = schema.closed(
        {"form": {"type": "string", "const": "order/2"}, "customer": customer, "lines": schema.rows(line, 1, 8)},
    )
    said = "; ".join(f"{line['pieces']} pieces of {line['article']} in {line['colour']}" for line in lines)
    says = f'Place an order for "{name}" in {city}, in this order: {said}.'
    arguments = {"form": "order/2", "customer": {"name": name, "city": city}, "lines": lines}
    return _asked(draw, ("place", "order", "Place an order."), parameters, arguments, says)


def _settings(draw: Draw) -> Question:
    """Objects in objects, numbers with bounds and steps, a set of labels."""
    low, pause = 1 + draw.below(20), 5 * (1 + draw.below(20))
    high = low + 1 + draw.below(60)
    labels = draw.some(WORDS["adjective"], 2 + draw.below(3))
    mode = draw.choice(("off", "eco", "full"))
    arguments = {
        "version": 3,
        "range": {"low": low, "high": high},
        "fan": {"mode": mode, "pause": pause},
        "labels": labels,
    }
    step = {"type": "integer", "minimum": 5, "maximum": 100, "multipleOf": 5, "description": "Minutes between runs."}
    parameters = schema.closed(
        {
            "version": {"type": "integer", "const": 3},
            "range": schema.closed({"low": schema.whole("°C.", 0, 40), "high": schema.whole("°C.", 1, 90)}),
            "fan": schema.closed({"mode": schema.one_of("How it runs.", ["off", "eco", "full"]), "pause": step}),
            "labels": {**schema.rows(schema.text("One word."), 1, 6), "uniqueItems": True},
        }
    )
    says = (
        f"Set up the heating (settings version 3): from {low} to {high} °C, the fan in "
        f'mode "{mode}" with a pause of {pause} minutes; label it {_listed(labels)}.'
    )
    in_any_order = {"/labels": Leaf("set", labels)}
    return _asked(draw, ("set up", "heating", "Set the heating up."), parameters, arguments, says, in_any_order)


def _payment(draw: Draw) -> Question:
    """Alternatives told apart by a const: `oneOf`."""
    cash = schema.closed(
        {"kind": {"type": "string", "const": "cash"}, "till": schema.whole("Number of the till.", 1, 30)}
    )
    transfer = schema.closed(
        {"kind": {"type": "string", "const": "transfer"}, "account": schema.text("Account.", pattern="^[0-9]{12}$")}
    )
    voucher = schema.closed(
        {"kind": {"type": "string", "const": "voucher"}, "code": schema.text("Voucher code.", **_CODE)}
    )
    till, account, code = 1 + draw.below(30), draw.digits(12), fill("{code}", draw)
    means, said = draw.choice(
        (
            ({"kind": "cash", "till": till}, f"in cash at till {till}"),
            ({"kind": "transfer", "account": account}, f"by transfer from account {account}"),
            ({"kind": "voucher", "code": code}, f"with voucher {code}"),
        )
    )
    payer, cents = fill("{person}", draw), 100 + draw.below(99_900)
    parameters = schema.closed(
        {
            "payer": schema.text("Who pays."),
            "cents": schema.whole("The sum in cents.", 1, 10_000_000),
            "means": {"oneOf": [cash, transfer, voucher]},
        }
    )
    says = f'"{payer}" pays {cents} cents {said}. Book the payment.'
    return _asked(
        draw,
        ("book", "payment", "Book a payment."),
        parameters,
        {"payer": payer, "cents": cents, "means": means},
        says,
    )


def _registration(draw: Draw) -> Question:
    """Values that may be null and have to be there, beside ones that may be absent."""
    first, last = fill("{person}", draw).split()
    born = f"{1940 + draw.below(60)}-{1 + draw.below(12):02}-{1 + draw.below(28):02}"
    middle = draw.choice((None, fill("{surname}", draw)))
    floor = draw.choice((None, draw.below(12)))
    street = f"{fill('{surname}', draw)} Lane"
    number = str(1 + draw.below(90)) + draw.choice(("", "a", "b"))
    address = {"street": street, "number": number, "floor": floor}
    parameters = schema.closed(
        {
            "first": schema.text("First name."),
            "middle": {"type": ["string", "null"], "description": "Middle name; null where there is none."},
            "last": schema.text("Last name."),
            "born": schema.text("Date of birth as YYYY-MM-DD.", pattern=ISO_DAY),
            "address": schema.closed(
                {
                    "street": schema.text("Street without the number."),
                    "number": schema.text("House number, with its letter.", pattern="^[0-9]+[a-z]?$"),
                    "floor": {"anyOf": [schema.whole("Floor.", 0, 60), {"type": "null"}]},
                }
            ),
            "remark": schema.text("Only where the member has one.", maxLength=200),
        },
        optional=("remark",),
    )
    arguments = {"first": first, "middle": middle, "last": last, "born": born, "address": address}
    says = (
        f"Register a member: first name {first}, {f'middle name {middle}' if middle else 'no middle name'}, last name "
        f"{last}, born on {born}. Street: {street}, house number {number}, "
        f"{'floor unknown' if floor is None else f'floor {floor}'}. No remark."
    )
    return _asked(draw, ("register", "member", "Register a new member."), parameters, arguments, says)


def _timetable(draw: Draw) -> Question:
    """Arrays in objects in an array, times by a pattern."""
    slots = []
    for day in draw.some(_WEEKDAYS, 2 + draw.below(2)):
        hour = 7 + draw.below(10)
        start, end = f"{hour:02}:{draw.choice(('00', '15', '30'))}", f"{hour + 1:02}:{draw.choice(('40', '45', '50'))}"
        rooms = [fill("{code}", draw) for _ in range(1 + draw.below(3))]
        slots.append({"day": day, "start": start, "end": end, "rooms": rooms})
    slot = schema.closed(
        {
            "day": schema.one_of("Day of the week.", list(_WEEKDAYS)),
            "start": schema.text("HH:MM.", **_CLOCK),
            "end": schema.text("HH:MM.", **_CLOCK),
            "rooms": schema.rows(schema.text("Room code.", **_CODE), 1, 5),
        }
    )
    teacher = fill("{person}", draw)
    parameters = schema.closed({"teacher": schema.text("Who teaches."), "slots": schema.rows(slot, 1, 7)})
    said = "; ".join(f"{one['day']} {one['start']} to {one['end']} in {_listed(one['rooms'])}" for one in slots)
    says = f'Save the timetable of "{teacher}", in this order: {said}.'
    arguments = {"teacher": teacher, "slots": slots}
    return _asked(draw, ("save", "timetable", "Save a timetable."), parameters, arguments, says)


def _place(draw: Draw) -> Question:
    """Five objects deep, and a pair of numbers of fixed length."""
    site, room, article = fill("{place}", draw), fill("{code}", draw), fill("{code}", draw)
    shelf, level, x, y = 1 + draw.below(40), 1 + draw.below(9), draw.below(300), draw.below(300)
    corner = {**schema.rows({"type": "integer", "minimum": 0, "maximum": 300}, 2, 2), "description": "x and y in cm."}
    board = schema.closed({"level": schema.whole("From below.", 1, 9), "corner": corner})
    bay = schema.closed({"shelf": schema.whole("Number of the shelf.", 1, 40), "board": board})
    inside = schema.closed({"code": schema.text("Room code.", **_CODE), "bay": bay})
    where = schema.closed({"name": schema.text("Name of the site."), "room": inside})
    parameters = schema.closed({"article": schema.text("Article code.", **_CODE), "site": where})
    bay_said = {"shelf": shelf, "board": {"level": level, "corner": [x, y]}}
    says = (
        f"Article {article} is now at site {site}, room {room}, shelf {shelf}, on the board at level {level}, with its "
        f"corner at x {x} cm, y {y} cm. Put that down."
    )
    arguments = {"article": article, "site": {"name": site, "room": {"code": room, "bay": bay_said}}}
    return _asked(draw, ("put down", "place", "Put down where an article is."), parameters, arguments, says)


def _asked(
    draw: Draw,
    named: tuple[str, str, str],
    parameters: Mapping[str, Any],
    arguments: Mapping[str, Any],
    says: str,
    leaves: Mapping[str, Leaf] | None = None,
) -> Question:
    verb, noun, does = named
    name = Names.of(draw).tool(verb, noun)
    tool = schema.tool(name, does, parameters)
    return must_call(request(conversation(draw, says), [tool], **GREEDY), Wanted(name, arguments, leaves or {}))


def _listed(words: Sequence[str]) -> str:
    return ", ".join(words[:-1]) + f" and {words[-1]}" if len(words) > 1 else words[0]


FAMILIES = (
    Family("order", _order),
    Family("settings", _settings),
    Family("payment", _payment),
    Family("registration", _registration),
    Family("timetable", _timetable),
    Family("place", _place),
)

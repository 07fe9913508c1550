"""The kinds of errands: what their tools are called and take, and how users ask for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from probes.tools.families.parts import Maker, amount, code, day, flag, option, proper, quoted, whole
from probes.vocabulary import WORDS

_INSTRUMENTS = ("violin", "harmonica", "cello", "oboe", "trumpet", "piano", "flute")
_DISHES = ("barley soup", "onion tart", "fried herring", "pea stew", "plum dumplings", "rye porridge")
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_PERSON = "{person}"


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of errand. `parts` are its parameters by the slot that stands for them in `asks`; `siblings` are verbs
    for the same noun, each with what its tool does."""

    name: str
    verbs: tuple[str, ...]
    nouns: tuple[str, ...]
    descriptions: tuple[str, ...]
    parts: Mapping[str, Maker]
    asks: tuple[str, ...]
    siblings: tuple[tuple[str, str], ...]


KINDS = (
    Kind(
        "berth",
        ("reserve", "book"),
        ("berth", "mooring"),
        ("Reserve a berth for a boat.", "Give a boat a place in the harbour for some nights."),
        {
            "boat": proper(("boat", "vessel name"), "{adjective} {animal}", "Name of the boat."),
            "berth": code(("berth", "berth code"), "Code of the berth."),
            "nights": whole(("nights", "number of nights"), 1, 40, "How many nights the boat stays."),
        },
        (
            "Please reserve berth {berth} for the boat {boat}, {nights} nights.",
            "The boat {boat} stays with us for {nights} nights: book it into berth {berth}.",
            "I need berth {berth} for {nights} nights. The boat is called {boat}.",
        ),
        (
            ("cancel", "Give up a berth that is reserved."),
            ("move", "Move a boat to another berth."),
            ("describe", "Say how long and how deep a berth is."),
        ),
    ),
    Kind(
        "delivery",
        ("record", "enter"),
        ("delivery", "arrival"),
        ("Record a delivery of goods.", "Enter goods that have arrived into the stock book."),
        {
            "supplier": proper(("supplier", "supplier name"), _PERSON, "Who delivered."),
            "goods": option(("goods", "article"), WORDS["goods"], "What was delivered."),
            "crates": whole(("crates", "crate count"), 1, 400, "How many crates."),
            "cooled": flag(("cooled", "needs cooling"), "to be kept cold", "not to be cooled", "Whether it is cooled."),
        },
        (
            "{supplier} has brought {crates} crates of {goods}, {cooled}. Record the delivery, please.",
            "Enter a delivery: supplier {supplier}, {crates} crates, {goods}, {cooled}.",
        ),
        (
            ("reject", "Send a delivery back."),
            ("inspect", "Have a delivery inspected for damage."),
            ("count", "Count what a delivery held."),
        ),
    ),
    Kind(
        "reading",
        ("log", "store"),
        ("reading", "measurement"),
        ("Log the reading of an instrument.", "Store one measurement of a station."),
        {
            "station": code(("station", "station code"), "Code of the station."),
            "value": amount(("value", "level"), "What was read."),
            "unit": option(("unit", "unit of measure"), ("mm", "cm", "dm", "m", "ft", "in"), "Unit of the value."),
        },
        (
            "Station {station} shows {value} {unit}. Log it.",
            "Please store this measurement: {value} {unit} at station {station}.",
        ),
        (
            ("delete", "Delete a reading that is wrong."),
            ("average", "Average the readings of a day."),
            ("forecast", "Forecast the next reading."),
        ),
    ),
    Kind(
        "visit",
        ("schedule", "arrange"),
        ("visit", "appointment"),
        ("Schedule a visit.", "Arrange for somebody to come on a day."),
        {
            "visitor": proper(("visitor", "visitor name"), _PERSON, "Who comes."),
            "day": day(("day", "visit date"), "The day of the visit."),
            "room": code(("room", "room code"), "Where they meet."),
        },
        (
            "Schedule a visit of {visitor} on {day} in room {room}.",
            "{visitor} wants to come on {day}. Please arrange it, room {room}.",
        ),
        (
            ("postpone", "Move a visit to a later day."),
            ("confirm", "Tell a visitor that the visit stands."),
            ("summarise", "Summarise what was said at a visit."),
        ),
    ),
    Kind(
        "notice",
        ("post", "publish"),
        ("notice", "announcement"),
        ("Post a notice on a board.", "Publish a short text where visitors see it."),
        {
            "board": option(("board", "board name"), ("quay", "hall", "gate", "kitchen", "stairs"), "Which board."),
            "text": quoted(
                ("text", "wording"),
                (
                    "The {thing} of {person} was found.",
                    "No {goods} in {month}.",
                    "{person} sells {few} {goods}.",
                ),
                "The text, word for word.",
            ),
        },
        ("Post on the {board} board: {text}", "Please publish {text} on the board called {board}, word for word."),
        (
            ("remove", "Take a notice down."),
            ("translate", "Translate a notice."),
            ("archive", "Put a notice into the archive."),
        ),
    ),
    Kind(
        "loan",
        ("register", "open"),
        ("loan", "lending"),
        ("Register that somebody borrows a thing.", "Open a loan in the lending book."),
        {
            "borrower": proper(("borrower", "borrower name"), _PERSON, "Who borrows."),
            "thing": option(("thing", "item"), WORDS["thing"], "What is borrowed."),
            "days": whole(("days", "loan days"), 1, 90, "For how many days."),
        },
        (
            "{borrower} borrows a {thing} for {days} days; register the loan, please.",
            "Open a loan for {borrower}: one {thing}, {days} days.",
        ),
        (
            ("extend", "Let a loan run longer."),
            ("close", "Close a loan: the thing is back."),
            ("remind", "Remind a borrower of a loan."),
        ),
    ),
    Kind(
        "transfer",
        ("move", "ship"),
        ("stock", "goods"),
        ("Move goods from one store to another.", "Ship crates between two places."),
        {
            "origin": proper(("origin", "from place"), "{place}", "Where the goods are."),
            "target": proper(("destination", "to place"), "{place}", "Where they go."),
            "crates": whole(("crates", "crate count"), 1, 900, "How many crates."),
        },
        (
            "Move {crates} crates from {origin} to {target}.",
            "We are short in {target}: ship {crates} crates there from {origin}.",
        ),
        (
            ("count", "Count the stock of a place."),
            ("write off", "Write off stock that is spoilt."),
            ("insure", "Insure stock against loss."),
        ),
    ),
    Kind(
        "repair",
        ("request", "order"),
        ("repair", "fix"),
        ("Request a repair.", "Order that something broken is mended."),
        {
            "object": code(("object", "object code"), "Code of what is broken."),
            "urgency": option(("urgency", "priority"), ("low", "normal", "high", "immediate"), "How soon."),
            "fault": quoted(
                ("fault", "fault text"),
                ("It {verb} by itself.", "The {colour} lever is loose.", "Leaks since {month}.", "Smells of {goods}."),
                "What is wrong, word for word.",
            ),
        },
        (
            "Object {object} is broken. Request a repair with {urgency} urgency; as the fault write {fault}",
            "Order a repair of {object}, urgency {urgency}, fault: {fault}",
        ),
        (
            ("cancel", "Call a repair off."),
            ("rate", "Rate a repair that is done."),
            ("assign", "Give a repair to a mechanic."),
        ),
    ),
    Kind(
        "price",
        ("set", "change"),
        ("price", "tariff"),
        ("Set the price of an article.", "Change what one piece of an article costs."),
        {
            "article": option(("article", "goods"), WORDS["goods"], "The article."),
            "price": amount(("price", "amount"), "Price of one piece."),
            "currency": option(("currency", "currency code"), ("EUR", "USD", "CHF", "NOK"), "Currency."),
        },
        (
            "From now on {article} cost {price} {currency} apiece. Set it.",
            "Change the price of {article} to {price} {currency}.",
        ),
        (
            ("compare", "Compare a price with the market's."),
            ("freeze", "Keep a price as it is for a year."),
            ("print", "Print a price on a label."),
        ),
    ),
    Kind(
        "lesson",
        ("book", "plan"),
        ("lesson", "class"),
        ("Book a music lesson.", "Plan a lesson for a pupil."),
        {
            "pupil": proper(("pupil", "pupil name"), _PERSON, "Who learns."),
            "instrument": option(("instrument", "instrument name"), _INSTRUMENTS, "Which instrument."),
            "weekday": option(("weekday", "day of week"), _WEEKDAYS, "On which weekday."),
            "minutes": whole(("minutes", "length minutes"), 15, 120, "How long it takes."),
        },
        (
            "Book a {instrument} lesson of {minutes} minutes for {pupil}, every {weekday}.",
            "{pupil} wants to learn the {instrument}: {minutes} minutes each {weekday}. Please plan it.",
        ),
        (
            ("skip", "Leave one lesson out."),
            ("bill", "Send the bill for a lesson."),
            ("swap", "Swap a lesson with another pupil."),
        ),
    ),
    Kind(
        "parcel",
        ("send", "dispatch"),
        ("parcel", "package"),
        ("Send a parcel.", "Hand a parcel to the carrier."),
        {
            "recipient": proper(("recipient", "recipient name"), _PERSON, "Who gets it."),
            "weight": amount(("weight", "weight kg"), "Weight in kilograms."),
            "insured": flag(("insured", "with insurance"), "with insurance", "without insurance", "Insured or not."),
        },
        (
            "Send a parcel of {weight} kg to {recipient}, {insured}.",
            "There is a parcel for {recipient}: {weight} kg, {insured}. Dispatch it, please.",
        ),
        (
            ("track", "Say where a parcel is."),
            ("return", "Have a parcel sent back."),
            ("hold", "Keep a parcel at the counter."),
        ),
    ),
    Kind(
        "shift",
        ("assign", "give"),
        ("shift", "watch"),
        ("Assign a shift to somebody.", "Put somebody on duty for a part of a day."),
        {
            "keeper": proper(("keeper", "person"), _PERSON, "Who is on duty."),
            "day": day(("day", "shift date"), "On which day."),
            "part": option(("part", "part of day"), ("morning", "afternoon", "evening", "night"), "Part of the day."),
        },
        (
            "{keeper} takes the {part} shift on {day}. Assign it.",
            "Put {keeper} on duty on {day}, {part} shift.",
        ),
        (
            ("trade", "Let two people trade a shift."),
            ("cancel", "Leave a shift empty."),
            ("report", "Report what happened in a shift."),
        ),
    ),
    Kind(
        "meal",
        ("order", "bring"),
        ("meal", "dish"),
        ("Order a meal for a table.", "Have a dish brought to a table."),
        {
            "dish": option(("dish", "dish name"), _DISHES, "What is eaten."),
            "portions": whole(("portions", "number of portions"), 1, 24, "How many."),
            "table": code(("table", "table code"), "Code of the table."),
        },
        (
            "Table {table} wants {portions} portions of {dish}. Order that.",
            "{dish} for table {table}, {portions} portions, please.",
        ),
        (
            ("praise", "Pass praise for a meal on to the kitchen."),
            ("refund", "Give the money for a meal back."),
            ("explain", "Explain what is in a meal."),
        ),
    ),
    Kind(
        "reminder",
        ("set", "add"),
        ("reminder", "alert"),
        ("Set a reminder for a day.", "Have somebody reminded of something on a day."),
        {
            "day": day(("day", "due date"), "When to remind."),
            "text": quoted(
                ("text", "message"),
                ("Water the {goods}.", "Ask {person} about the {thing}.", "Look for the {animal}."),
                "What to be reminded of, word for word.",
            ),
        },
        ("Set a reminder for {day}: {text}", "On {day} I have to be reminded of this: {text}"),
        (
            ("snooze", "Put a reminder off by an hour."),
            ("share", "Share a reminder with somebody."),
            ("silence", "Let a reminder make no sound."),
        ),
    ),
    Kind(
        "review",
        ("file", "submit"),
        ("review", "rating"),
        ("File a review of an inn.", "Submit what a guest thought of an inn."),
        {
            "inn": proper(("inn", "inn name"), "{adjective} {animal}", "Name of the inn."),
            "stars": whole(("stars", "star count"), 1, 5, "From one to five."),
            "text": quoted(
                ("text", "opinion"),
                ("The {thing} was {colour}.", "Too many {goods}.", "Slept like a {animal}."),
                "The opinion, word for word.",
            ),
        },
        (
            "File a review of the inn {inn}: {stars} stars, {text}",
            "Please submit {stars} stars for the inn {inn}, with the words {text}",
        ),
        (
            ("answer", "Answer a review in public."),
            ("report", "Report a review that insults."),
            ("hide", "Hide a review from the page."),
        ),
    ),
    Kind(
        "route",
        ("plan", "find"),
        ("route", "journey"),
        ("Plan a route between two places.", "Find a way for a traveller."),
        {
            "start": proper(("start", "start place"), "{place}", "Where it begins."),
            "end": proper(("end", "end place"), "{place}", "Where it ends."),
            "means": option(("means", "means of travel"), ("train", "bicycle", "boat", "mule", "sledge"), "By what."),
        },
        (
            "Plan a route from {start} to {end} by {means}.",
            "How do I get to {end} by {means}, starting in {start}? Find the route.",
        ),
        (
            ("shorten", "Make a route shorter."),
            ("save", "Save a route under a name."),
            ("draw", "Draw a route on a map."),
        ),
    ),
)

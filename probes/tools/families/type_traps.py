"""T6: values that change where something between model and client takes them for another type."""

from __future__ import annotations

from dataclasses import replace

from probes.grammar import Draw
from probes.tools.case import Leaf
from probes.tools.families import schema
from probes.tools.families.one_value import one_value
from probes.tools.families.question import Family, Question

_WORDS = ("true", "false", "null", "no", "on", "NaN", "None", "undefined")


def _leading_zeros(draw: Draw) -> Question:
    value = "0" * (1 + draw.below(3)) + draw.digits(1 + draw.below(4))
    takes = schema.text("Digits, with all leading zeros.", pattern="^[0-9]+$")
    return one_value(draw, takes, value, f"Store the number {value} in record {{record}}; keep the zeros in front.")


def _exponent_number(draw: Draw) -> Question:
    said = f"{1 + draw.below(9)}e{2 + draw.below(12)}"
    value = float(said)
    takes = {"type": "number", "description": "A number."}
    return one_value(draw, takes, value, f"Store the number {said} in record {{record}}.", Leaf("number", value))


def _exponent_text(draw: Draw) -> Question:
    """An article number that looks like a number with an exponent: spreadsheets spoil these."""
    value = f"{1 + draw.below(9)}{draw.choice('eE')}{1 + draw.below(40)}"
    takes = schema.text("Article number, letters and digits.", pattern="^[0-9A-Za-z]+$")
    return one_value(draw, takes, value, f'Store the article number "{value}" in record {{record}}.')


def _integral_float(draw: Draw) -> Question:
    """2.0 where a number may have decimals: 2 is the same number, "2.0" is none."""
    value = float(1 + draw.below(900))
    takes = {"type": "number", "description": "Length in metres."}
    says = f"Store a length of exactly {value} metres in record {{record}}."
    return one_value(draw, takes, value, says, Leaf("number", value))


def _boolean(draw: Draw) -> Question:
    value = draw.below(2) == 1
    takes = {"type": "boolean", "description": "Whether it was checked."}
    return one_value(draw, takes, value, f"Record {{record}} was {'' if value else 'not '}checked. Store that.")


def _words_as_text(draw: Draw) -> Question:
    """A text that is a keyword in JSON, YAML or Python."""
    value = draw.choice(_WORDS)
    takes = schema.text("What the visitor wrote.", maxLength=40)
    return one_value(draw, takes, value, f'The visitor wrote the one word "{value}". Store that word in {{record}}.')


def _null(draw: Draw) -> Question:
    """Null, which has to be there: neither left out nor "null"."""
    takes = {"type": ["integer", "null"], "description": "Age in years; null where it is not known.", "minimum": 0}
    return one_value(draw, takes, None, "For record {record} the age is not known. Store that.")


def _absent(draw: Draw) -> Question:
    """A part that is not there, where null is no way to say so."""
    least = draw.below(50)
    bounds = {"least": schema.whole("The least.", 0, 99), "most": schema.whole("Only where there is a bound.", 0, 99)}
    takes = schema.closed(bounds, optional=("most",))
    says = f"Store in record {{record}}: at least {least}, without an upper bound."
    return one_value(draw, takes, {"least": least}, says)


def _big_integer(draw: Draw) -> Question:
    """More than 2**53, and odd: no double holds it."""
    value = 2**53 + 2 * int(draw.digits(9) + draw.digits(8)) + 1
    takes = {"type": "integer", "description": "Serial number.", "minimum": 0}
    return one_value(draw, takes, value, f"Store the serial number {value} in record {{record}}, digit by digit.")


def _many_decimals(draw: Draw) -> Question:
    """As many digits as a double holds, and more than a float."""
    said = f"0.{draw.digits(8)}{draw.digits(6)}{1 + draw.below(9)}"
    takes = {"type": "number", "description": "Share, between 0 and 1, with all decimals."}
    return one_value(
        draw, takes, float(said), f"Store the share {said} in record {{record}}.", Leaf("number", float(said))
    )


def _negative_zero(draw: Draw) -> Question:
    takes = {"type": "number", "description": "Deviation, with its sign; -0.0 and 0.0 are told apart."}
    says = "The deviation is -0.0, with the minus sign. Store it in record {record}."
    return one_value(draw, takes, -0.0, says)


def _iso_moment(draw: Draw) -> Question:
    """A moment with its offset, to be stored as it is: the format is asserted."""
    day = f"{2031 + draw.below(9)}-{1 + draw.below(12):02}-{1 + draw.below(28):02}"
    clock = f"{draw.below(24):02}:{draw.below(60):02}:{draw.below(60):02}"
    value = f"{day}T{clock}{draw.choice(('Z', '+02:00', '-05:30', '+14:00'))}"
    takes = schema.text("Date and time with offset, RFC 3339.", format="date-time")
    question = one_value(draw, takes, value, f"Store the moment {value} in record {{record}}.", Leaf("date", value))
    return replace(question, formats=True)


def _long_digits(draw: Draw) -> Question:
    value = "".join(draw.digits(8 + draw.below(4)) for _ in range(3))
    takes = schema.text("Account number, digits only.", pattern="^[0-9]{20,40}$")
    return one_value(draw, takes, value, f"Store account number {value} in record {{record}}.")


FAMILIES = (
    Family("leading-zeros", _leading_zeros),
    Family("exponent-number", _exponent_number),
    Family("exponent-text", _exponent_text),
    Family("integral-float", _integral_float),
    Family("boolean", _boolean),
    Family("words-as-text", _words_as_text),
    Family("null", _null),
    Family("absent", _absent),
    Family("big-integer", _big_integer),
    Family("many-decimals", _many_decimals),
    Family("negative-zero", _negative_zero),
    Family("iso-moment", _iso_moment),
    Family("long-digits", _long_digits),
)

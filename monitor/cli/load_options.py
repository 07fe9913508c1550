"""The options of `monitor probe` that say under which load streams are measured, and what they are to keep to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from pydantic import ValidationError

from monitor.config import Slo
from monitor.config.asking import MOST_PER_SECOND, MOST_PROMPT_TOKENS, MOST_STREAMS
from monitor.config.values import LIMITS
from monitor.errors import UsageError

if TYPE_CHECKING:
    from probes.load.probe import Load

Number = TypeVar("Number", int, float)

Rate = Annotated[float | None, typer.Option(help="Streams a second, sent whatever becomes of those before.")]
Streams = Annotated[int | None, typer.Option(help="Streams of each size of prompts.")]
Sizes = Annotated[str | None, typer.Option(help="Prompt sizes of the streams, in tokens, such as 200,2000,6000.")]
SloTexts = Annotated[
    list[str] | None, typer.Option("--slo", help="What streams are to keep to, such as ttft=2s,tpot=80ms.")
]


def load_of(rate: float | None, streams: int | None, sizes: str | None) -> Load | None:
    """None where nothing of it is asked for. Raises UsageError."""
    given: dict[str, Any] = {}
    if rate is not None:
        given["per_second"] = _within("--rate", rate, MOST_PER_SECOND)
    if streams is not None:
        given["each"] = _within("--streams", streams, MOST_STREAMS)
    if sizes is not None:
        given["sizes"] = tuple(_size(text) for text in sizes.split(","))
    if not given:
        return None
    from probes.load.probe import Load

    return Load(**given)


def slos_of(texts: list[str] | None) -> tuple[Slo, ...]:
    """Raises UsageError for what is no promise."""
    return tuple(_slo(text) for text in texts or ())


def _slo(text: str) -> Slo:
    parts = dict(part.partition("=")[::2] for part in text.replace(" ", "").split(","))
    try:
        found = Slo.model_validate({name: _number(value) for name, value in parts.items()})
    except ValidationError as error:
        raise _no_slo(text) from error
    if not any(getattr(found, name) for name in LIMITS):
        raise _no_slo(text)
    return found


def _number(text: str) -> int | str:
    return int(text) if text.isdecimal() else text


def _no_slo(text: str) -> UsageError:
    names = ", ".join(LIMITS)
    return UsageError(
        f"--slo {text!r} promises nothing that is known.",
        remedy=f"Give one or more of {names} with their times, and up_to with a number of tokens: ttft=2s,up_to=4000.",
    )


def _size(text: str) -> int:
    try:
        return _within("--sizes", int(text), MOST_PROMPT_TOKENS)
    except ValueError as error:
        raise UsageError(
            f"--sizes {text!r} is no number of tokens.", remedy="Give some as in 200,2000,6000."
        ) from error


def _within(option: str, value: Number, most: float) -> Number:
    if not 0 < value <= most:
        raise UsageError(f"{option} {value:g} is not above 0 and at most {most:g}.", remedy="Give one that is.")
    return value

"""The form of an id is that of all ids of its making."""

from __future__ import annotations

import base64
import random
import string
import uuid
from collections.abc import Callable

import pytest

from probes.profile.identifiers import form_of

_LETTERS = string.ascii_letters + string.digits


def letters(size: int) -> Callable[[random.Random], str]:
    return lambda rng: "".join(rng.choice(_LETTERS) for _ in range(size))


def hexadecimal(size: int) -> Callable[[random.Random], str]:
    return lambda rng: f"{rng.getrandbits(4 * size):0{size}x}"


def after(prefix: str, drawn: Callable[[random.Random], str]) -> Callable[[random.Random], str]:
    return lambda rng: prefix + drawn(rng)


def base64url(rng: random.Random) -> str:
    return base64.urlsafe_b64encode(rng.randbytes(16)).decode().rstrip("=")


MAKINGS: list[tuple[Callable[[random.Random], str], str]] = [
    (after("chatcmpl-", letters(29)), "chatcmpl-drawn29"),
    (after("chatcmpl-", hexadecimal(32)), "chatcmpl-hex32"),
    (after("chatcmpl-tool-", hexadecimal(32)), "chatcmpl-tool-hex32"),
    (lambda rng: f"chatcmpl-{uuid.UUID(int=rng.getrandbits(128))}", "chatcmpl-uuid"),
    (lambda rng: f"chatcmpl-{rng.randrange(999)}", "chatcmpl-count"),
    (hexadecimal(32), "hex32"),
    (after("call_", hexadecimal(8)), "call_drawn8"),
    (after("call_", letters(24)), "call_drawn24"),
    (after("call_", hexadecimal(24)), "call_hex24"),
    (letters(9), "drawn9"),
    (base64url, "drawn22"),
    (after("chatcmpl-", base64url), "chatcmpl-drawn22"),
    (lambda rng: f"gen-{rng.randrange(1700000000, 1800000000)}-{letters(20)(rng)}", "gen-time-drawn20"),
    (lambda rng: f"functions.get_weather:{rng.randrange(20)}", "name:count"),
    (lambda rng: f"get_weather:{rng.randrange(20)}", "name:count"),
]


@pytest.mark.parametrize(("making", "form"), MAKINGS, ids=[form for _, form in MAKINGS])
def test_every_id_of_a_making_has_its_form(making: Callable[[random.Random], str], form: str) -> None:
    rng = random.Random(7)

    assert {form_of(making(rng)) for _ in range(2000)} == {form}


def test_an_id_without_a_drawn_part_is_empty() -> None:
    assert form_of("") == "empty"
    assert form_of("chatcmpl-") == "chatcmpl-empty"

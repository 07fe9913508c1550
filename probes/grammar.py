"""Private prompts from a seeded grammar: the same for one installation for ever, and shared with no other.

Every choice is drawn from HMAC-SHA256 keyed with the installation's seed, so whoever lacks the seed cannot list the
prompts, and a Python release cannot change them.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from probes import vocabulary
from probes.vocabulary import FRAMES, LONG_ANSWERS, NONCES, SYSTEM_MESSAGES, WORDS, Frame

T = TypeVar("T")

GRAMMAR_VERSION = "1"

# One prompt in three is foreign, one anchor in five has a system message; both are exact in every 15 anchors.
_FOREIGN_EVERY = 3
_SYSTEM_EVERY = 5
_SLOT = re.compile(r"\{(\w+)\}")


def _grammar_sha256() -> str:
    parts = [FRAMES, NONCES, SYSTEM_MESSAGES, LONG_ANSWERS, sorted(WORDS.items())]
    parts += [vocabulary.ONSETS, vocabulary.VOWELS, vocabulary.CODAS, vocabulary.FIRST_NAMES]
    return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode()).hexdigest()


GRAMMAR_SHA256 = _grammar_sha256()


@dataclass(frozen=True, slots=True)
class Prompt:
    """A conversation up to the user's turn, and the family it is of."""

    family: str
    messages: tuple[Mapping[str, str], ...]

    @property
    def sha256(self) -> str:
        """Hash of the content: two prompts are one exactly where these are equal."""
        text = json.dumps([dict(message) for message in self.messages], ensure_ascii=False, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


class Draw:
    """Choices keyed by a seed and a context; equal keys give equal choices."""

    def __init__(self, seed: bytes, *context: bytes | str | int) -> None:
        parts = [part if isinstance(part, bytes) else str(part).encode() for part in context]
        framed = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
        self._key = hmac.new(seed, framed, hashlib.sha256).digest()
        self._count = 0

    def below(self, size: int) -> int:
        """A whole number from 0 to size − 1, each equally likely; `size` is at most 2**32."""
        limit = 2**64 - 2**64 % size
        while True:
            block = hmac.new(self._key, self._count.to_bytes(8, "big"), hashlib.sha256).digest()
            self._count += 1
            value = int.from_bytes(block[:8], "big")
            if value < limit:
                return value % size

    def choice(self, options: Sequence[T]) -> T:
        return options[self.below(len(options))]

    def shuffled(self, options: Sequence[T]) -> list[T]:
        """All of them, in an order of which each is equally likely."""
        order = list(options)
        for place in range(len(order) - 1, 0, -1):
            other = self.below(place + 1)
            order[place], order[other] = order[other], order[place]
        return order

    def some(self, options: Sequence[T], count: int) -> list[T]:
        """`count` different ones, in any order."""
        return self.shuffled(options)[:count]

    def digits(self, length: int) -> str:
        """A number of that many digits without a leading zero."""
        return str(10 ** (length - 1) + self.below(9 * 10 ** (length - 1)))


def anchors(seed: bytes, n: int) -> list[Prompt]:
    """The first `n` anchors of this seed, all different. More of them begin with the same ones."""
    found: dict[str, Prompt] = {}
    attempt = 0
    while len(found) < n:
        draw = Draw(seed, "anchor", GRAMMAR_VERSION, attempt)
        place = len(found)
        prompt = _prompt(draw, place)
        if _falls_on(seed, "system", place, _SYSTEM_EVERY):
            system = {"role": "system", "content": fill(draw.choice(SYSTEM_MESSAGES), draw)}
            prompt = Prompt(prompt.family, (system, *prompt.messages))
        # By the start of the hash, because that is what the anchor is called by.
        found.setdefault(prompt.sha256[:8], prompt)
        attempt += 1
    return list(found.values())


def single_use(seed: bytes, nonce: bytes, n: int) -> list[Prompt]:
    """`n` different prompts that only this seed and nonce give. Use a nonce once: random bytes, 16 or more."""
    found: dict[str, Prompt] = {}
    attempt = 0
    while len(found) < n:
        draw = Draw(seed, "single-use", GRAMMAR_VERSION, nonce, attempt)
        frame = _frame(draw, len(found))
        text = f"{fill(draw.choice(NONCES), draw)} {fill(frame.text, draw)}"
        prompt = Prompt(frame.family, (_user(text),))
        found.setdefault(prompt.sha256, prompt)
        attempt += 1
    return list(found.values())


def long_answers(seed: bytes, nonce: bytes, n: int) -> list[Prompt]:
    """`n` single-use prompts whose answers run long, for measuring streams."""
    prompts = []
    for index in range(n):
        draw = Draw(seed, "long-answer", GRAMMAR_VERSION, nonce, index)
        frame = draw.choice(LONG_ANSWERS)
        text = f"{fill(draw.choice(NONCES), draw)} {fill(frame.text, draw)}"
        prompts.append(Prompt(frame.family, (_user(text),)))
    return prompts


def fill(text: str, draw: Draw) -> str:
    """The frame with every {slot} filled: from the word list of that name, or invented."""

    def word(slot: re.Match[str]) -> str:
        name = slot[1]
        return draw.choice(WORDS[name]) if name in WORDS else _INVENTED[name](draw)

    return _SLOT.sub(word, text)


def _prompt(draw: Draw, place: int) -> Prompt:
    frame = _frame(draw, place)
    return Prompt(frame.family, (_user(fill(frame.text, draw)),))


def _frame(draw: Draw, place: int) -> Frame:
    foreign = place % _FOREIGN_EVERY == _FOREIGN_EVERY - 1
    return draw.choice([frame for frame in FRAMES if frame.foreign == foreign])


def _falls_on(seed: bytes, what: str, place: int, every: int) -> bool:
    """Whether `place` is the one of its block of `every` places, which differs from seed to seed."""
    return place % every == Draw(seed, what, place // every).below(every)


def _user(text: str) -> Mapping[str, str]:
    return {"role": "user", "content": text}


def _syllables(draw: Draw, count: int) -> str:
    parts = [draw.choice(vocabulary.ONSETS) + draw.choice(vocabulary.VOWELS) for _ in range(count)]
    return "".join(parts) + draw.choice(vocabulary.CODAS)


def _surname(draw: Draw) -> str:
    return _syllables(draw, 2).capitalize()


def _code(draw: Draw) -> str:
    letters = "".join(draw.choice("ABCDEFGHJKLMNPQRSTUVWXYZ") for _ in range(2))
    return f"{letters}-{draw.digits(4)}"


_INVENTED: Mapping[str, Callable[[Draw], str]] = {
    "person": lambda draw: f"{draw.choice(vocabulary.FIRST_NAMES)} {_surname(draw)}",
    "surname": _surname,
    "place": lambda draw: _syllables(draw, 2 + draw.below(2)).capitalize(),
    "snake": lambda draw: f"{_syllables(draw, 1)}_{_syllables(draw, 1)}",
    "few": lambda draw: str(3 + draw.below(95)),
    "two": lambda draw: str(2 + draw.below(8)),
    "year": lambda draw: str(1702 + draw.below(290)),
    "number": lambda draw: draw.digits(5),
    "ticket": lambda draw: draw.digits(4),
    "code": _code,
}

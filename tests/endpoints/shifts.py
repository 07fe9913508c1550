"""A model that leaves to chance whether it calls, and faults of it that show only in many answers."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.endpoints.answers import Answer, Call, Json
from tests.endpoints.lawful import WORDS
from tests.endpoints.server import Connection, Handler, Received
from tests.endpoints.wire import Wire

Chance = Callable[[str], float]

# Of the chances with which prompts call: the mean is .49, and F1 of the model with itself .76.
BETA = (0.434, 0.453)
_LENGTH = 12


def chance_of(prompt: str) -> float:
    return random.Random(prompt).betavariate(*BETA)


def shifted(logits: float) -> Chance:
    """Every prompt a little less, or more, likely to call."""

    def chance(prompt: str) -> float:
        p = chance_of(prompt)
        return p / (p + (1 - p) * math.exp(-logits))

    return chance


def never(share: float) -> Chance:
    """A share of the prompts does not call at all, the same ones each time."""
    return lambda prompt: 0.0 if random.Random(f"struck {prompt}").random() < share else chance_of(prompt)


@dataclass(frozen=True)
class Chancy:
    """Calls its first tool with the prompt's chance; where there are no tools, it says words of chance."""

    chance: Chance = chance_of

    def __call__(self, request: Mapping[str, Any], dice: random.Random) -> Answer:
        if not request.get("tools"):
            return Answer("".join(dice.choices(WORDS, k=_LENGTH)).strip())
        prompt = request["messages"][-1]["content"]
        calls = dice.random() < self.chance(prompt)
        return Answer(calls=(Call(request["tools"][0]["function"]["name"]),)) if calls else Answer("Not today.")


def deaf(*parameters: str) -> Wire:
    """Hears the request without these parameters."""
    return Wire(hears=lambda heard: {name: value for name, value in heard.items() if name not in parameters})


def prompted(text: str) -> Wire:
    """Every conversation starts with a system message of the provider's own."""

    def hears(request: Json) -> Json:
        return {**request, "messages": [{"role": "system", "content": text}, *request["messages"]]}

    return Wire(hears=hears)


class Mixed:
    """An endpoint of which another answers a share of the traffic."""

    def __init__(self, most: Handler, other: Handler, share: float, seed: int = 11) -> None:
        self._most, self._other, self._share = most, other, share
        self._rng = random.Random(seed)

    async def __call__(self, received: Received, connection: Connection) -> None:
        await (self._other if self._rng.random() < self._share else self._most)(received, connection)

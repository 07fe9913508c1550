"""The sampling probe: the same few open questions, again and again, one token each, drawn at temperature 1.

They stay the same for an installation: what an endpoint draws is held against what it says that it draws from, and
against its own past. A cache that answers them is seen by answers that are alike too often, so that nothing in them
keeps one away.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

from probes.grammar import Draw
from probes.logprobs import TOP_LOGPROBS, FirstToken, alternatives_of
from probes.plan import Item, Outcome, Plan, ProbeKind, Sample

VERSION = "1"
QUESTIONS = 4
DRAWS = 25
# At the other temperature: what log-probabilities are there says whether they are those before the sampler.
COOL, COOL_DRAWS = 0.5, 2
DRAWN, COOLED = "draw-", "cool-"

# Many answers may begin with any of many words.
_FRAMES = (
    "Name one {}. Answer with its name alone.",
    "Pick any {} at random and write only its name.",
    "Write one sentence about a {}.",
)
_THINGS = (
    *("wild animal", "bird", "river", "mountain", "small town", "old city", "spice", "cheese", "soup", "dessert"),
    *("musical instrument", "board game", "card game", "dance", "garden flower", "forest tree", "gemstone", "fabric"),
    *("carpenter's tool", "kitchen tool", "sea creature", "insect", "constellation", "invention", "profession"),
    *("board-game piece", "piece of furniture", "kind of weather", "kind of bread", "garment", "boat", "bridge"),
)


@dataclass(frozen=True, slots=True)
class Question:
    text: str

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()


def questions(seed: bytes, count: int = QUESTIONS) -> list[Question]:
    """Of this seed the same ones always, about different things."""
    draw = Draw(seed, "sampling", VERSION)
    return [Question(draw.choice(_FRAMES).format(thing)) for thing in draw.some(_THINGS, count)]


def plan(seed: bytes, *, part: float = 1.0) -> Plan:
    """Every question 25 times at temperature 1, in turn, then twice at the other one; of the draws the `part`, of each
    question one at least."""
    asked = questions(seed)
    draws = max(1, int(DRAWS * part))
    items = [_item(f"{DRAWN}{one.sha256[:8]}", one, rep, 1.0) for rep in range(draws) for one in asked]
    items += [_item(f"{COOLED}{one.sha256[:8]}", one, rep, COOL) for rep in range(COOL_DRAWS) for one in asked]
    return Plan(ProbeKind.SAMPLING, tuple(items), suite_sha256(asked), VERSION)


def suite_sha256(asked: Sequence[Question]) -> str:
    return hashlib.sha256(json.dumps([VERSION, *(one.sha256 for one in asked)]).encode()).hexdigest()


def drawn_from(sample: Sample) -> FirstToken | None:
    """The token that came and what it was drawn from, also where the values are those after the sampler; None where the
    answer brought none."""
    completion = sample.completion
    if completion is None or sample.outcome is not Outcome.OK or not completion.logprobs:
        return None
    return alternatives_of(completion.logprobs[0])


def _item(key: str, question: Question, rep: int, temperature: float) -> Item:
    request = {
        "messages": [{"role": "user", "content": question.text}],
        "max_tokens": 1,
        "temperature": temperature,
        "logprobs": True,
        "top_logprobs": TOP_LOGPROBS,
        "stream": False,
    }
    return Item(key, rep, request, anchor=True)

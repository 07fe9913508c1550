"""The border probe: private prompts of two words whose first token at temperature 0 is nearly tied, one token each, and
again and again (B3IT, Chauvin et al., ICML 2026). It needs no log-probabilities.

Which prompts these are has to be found on the endpoint itself. They stay the same for an installation.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from probes.grammar import Draw
from probes.logprobs import FirstToken
from probes.plan import Item, Outcome, Plan, ProbeKind, Sample
from probes.vocabulary import WORDS

VERSION = "1"
# So many prompts are there to choose from.
POOL = 2_000
# By these begin the keys of what is asked at temperature 0, and at 1.
COLD, HOT = "border-", "warm-"
_LISTS = ("adjective", "animal", "thing", "goods", "job", "topic", "feeling", "colour", "verb", "far_city")
# Of an answer of several tokens, what stands for the first one: a word, or a sign, with the white space before it.
_PIECE = re.compile(r"\s*(?:\w+|\S|$)")


@dataclass(frozen=True, slots=True)
class BorderPrompt:
    text: str

    @property
    def name(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()[:12]


class Ask(NamedTuple):
    """A prompt, by name, and how often it is asked; `hot`: at temperature 1."""

    prompt: str
    times: int
    hot: bool = False


@lru_cache(maxsize=2)
def pool(seed: bytes) -> Mapping[str, BorderPrompt]:
    """By name; of this seed the same ones always, in the same order."""
    words = [word for name in _LISTS for word in WORDS[name]]
    draw = Draw(seed, "border", VERSION)
    found: dict[str, BorderPrompt] = {}
    while len(found) < POOL:
        prompt = BorderPrompt(f"{draw.choice(words)} {draw.choice(words)}")
        found.setdefault(prompt.name, prompt)
    return found


def plan(seed: bytes, asks: Iterable[Ask]) -> Plan:
    """Prompts in turn, so that repeats of one are far apart. Raises KeyError for a prompt of no such seed."""
    prompts, wanted = pool(seed), tuple(asks)
    rounds = range(max((ask.times for ask in wanted), default=0))
    items = tuple(_item(prompts[ask.prompt], rep, hot=ask.hot) for rep in rounds for ask in wanted if rep < ask.times)
    return Plan(ProbeKind.BORDER, items, _suite_sha256(prompts), VERSION)


def messages_of(prompt: BorderPrompt) -> list[dict[str, str]]:
    return [{"role": "user", "content": prompt.text}]


def first_token(sample: Sample) -> FirstToken | None:
    """The token that came, without what it was chosen from; of reasoning where the answer has nothing else. None where
    the answer brought none. An answer that ends at once begins with its end."""
    completion = sample.completion
    if completion is None or sample.outcome is not Outcome.OK:
        return None
    text = completion.content or completion.reasoning or ""
    if not text and completion.finish_reason != "stop":
        return None
    shown = None if completion.usage is None else completion.usage.completion_tokens
    if shown is not None and shown > 1 and (piece := _PIECE.match(text)) is not None:
        # The endpoint takes no limit of one token.
        text = piece[0]
    return FirstToken((), (), text.encode("utf-8", "surrogateescape"))


def _suite_sha256(prompts: Mapping[str, BorderPrompt]) -> str:
    return hashlib.sha256(json.dumps([VERSION, *prompts]).encode()).hexdigest()


def _item(prompt: BorderPrompt, rep: int, *, hot: bool) -> Item:
    request = {
        "messages": messages_of(prompt),
        "max_tokens": 1,
        "temperature": 1.0 if hot else 0,
        "stream": False,
    }
    return Item(f"{HOT if hot else COLD}{prompt.name}", rep, request, anchor=True)

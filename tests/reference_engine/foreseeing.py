"""A drafter that has seen the answers."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from reference_engine.spec import Drafting
from tests.reference_engine.tiny_models import VOCABULARY


@dataclass
class Foreseeing:
    """Each token is right with probability `skill`, wrong otherwise; without one, a request's seed says whether all of
    its tokens are right, all are wrong, or some. Now and then it says nothing, or more than it was asked for.

    `answers` has the tokens by temperature, top_p, seed and prompt.
    """

    skill: float | None = None
    answers: Mapping[tuple[object, ...], Sequence[int]] = field(default_factory=dict)
    rng: random.Random = field(default_factory=lambda: random.Random(1))

    def proposals(self, drafting: Sequence[Drafting]) -> list[Sequence[int]]:
        return [self._tokens(each) for each in drafting]

    def _tokens(self, each: Drafting) -> Sequence[int]:
        request, draw = each.request, each.draw(0)
        prompt = request.known[: request.prompt_length]
        answer = self.answers.get((draw.temperature, draw.top_p, draw.seed, *prompt), ())
        skill = (0.0, 0.6, 1.0)[draw.seed % 3] if self.skill is None else self.skill
        count = self.rng.choice([0, each.most, each.most, each.most + 2])
        right = answer[request.generated : request.generated + count]
        return [token if self.rng.random() < skill else (token + 1) % VOCABULARY for token in right]

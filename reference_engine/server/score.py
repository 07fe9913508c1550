"""POST /v1/score: prompts in, the distribution at each of their positions out."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass

from reference_engine.interface import Scored, TokenDistribution
from reference_engine.server.envelope import Body, Envelope, usage
from reference_engine.server.errors import ApiError
from reference_engine.server.logprobs import finite
from reference_engine.server.schema import ScoreRequest
from reference_engine.server.served import ServedModel
from reference_engine.server.together import all_of
from reference_engine.server.values import check_values


@dataclass(frozen=True, slots=True)
class ScoreAnswer:
    """A request that was read and found good, ready to be scored."""

    served: ServedModel
    envelope: Envelope
    prompts: tuple[tuple[int, ...], ...]
    request: ScoreRequest

    @classmethod
    async def prepare(cls, served: ServedModel, request: ScoreRequest) -> ScoreAnswer:
        """Raises `ApiError` for what the model cannot score: its name, a token id, a position, too much at once."""
        model = served.name if request.model is None else served.check_name(request.model)
        served.check_ids(request.token_ids, "token_ids")
        _check_top_k(request.top_k, served.description.vocab_size)
        prompts = []
        for name, prompt in request.named():
            prompts.append(await served.read_prompt(prompt, name))
            _check_start(request.start, name, len(prompts[-1]))
        _check_size(request, prompts)
        return cls(served, Envelope.new("score", model, served), tuple(prompts), request)

    async def whole(self) -> bytes:
        """The body of the answer."""
        async with self.served.turns.admitted():
            scores = await all_of(self._written(index, ids) for index, ids in enumerate(self.prompts))
        head = {**self.envelope.head("score"), "profile": self.served.settings.profile}
        counted = usage(sum(map(len, self.prompts)), 0)
        return f'{_json(head)[:-1]},"scores":[{",".join(scores)}],"usage":{_json(counted)}}}'.encode()

    async def _written(self, index: int, ids: Sequence[int]) -> str:
        """Off the event loop: the numbers of one answer take longer to write than others like to wait."""
        request = self.request
        scored = await self.served.score(ids, request.top_k, start=request.start, token_ids=request.token_ids)
        return await asyncio.to_thread(_score_text, index, scored)


def _score_text(index: int, scored: Scored) -> str:
    head = _json({"index": index, "token_ids": list(scored.ids)})
    positions = ",".join(_json(_shown(position)) for position in scored.positions)
    return f'{head[:-1]},"positions":[{positions}]}}'


def _json(value: Body) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _shown(position: TokenDistribution) -> Body:
    return {
        "index": position.index,
        "token_id": position.token_id,
        "logprob": None if position.logprob is None else finite(position.logprob),
        "rank": position.rank,
        "top": [(token_id, finite(logprob)) for token_id, logprob in position.top],
        "chosen": {str(token_id): finite(logprob) for token_id, logprob in position.chosen.items()},
        "tail_mass": position.tail_mass,
    }


def _check_top_k(top_k: int, vocabulary: int) -> None:
    if top_k > vocabulary:
        message = f"Invalid 'top_k': the vocabulary has {vocabulary} tokens. Ask for no more."
        raise ApiError(message, wire_code="invalid_value", param="top_k")


def _check_start(start: int, name: str, length: int) -> None:
    if start > length:
        message = f"Invalid 'start': {name} has {length} tokens, so it is scored from 0 to {length}. Got {start}."
        raise ApiError(message, wire_code="invalid_value", param="start")


def _check_size(request: ScoreRequest, prompts: Sequence[Sequence[int]]) -> None:
    positions = sum(len(ids) + 1 - request.start for ids in prompts)
    check_values(
        positions * (1 + request.top_k + len(request.token_ids)),
        "prompts",
        "Ask for fewer prompts at a time, a smaller top_k or a later start.",
    )

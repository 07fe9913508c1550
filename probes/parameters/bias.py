"""The trials of logit_bias: a token forced is all that comes, a token banned never does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from probes.grammar import Draw
from probes.parameters import wording
from probes.parameters.judgement import Judgement
from probes.parameters.laboratory import Laboratory
from probes.parameters.narrowing import judge_refusals
from probes.parameters.rules import banned_tokens_are_missing, judge_rule
from probes.parameters.trial import Arm, Arms, Trial, answer_of, said
from probes.plan import Sample
from probes.vocabulary import WORDS

if TYPE_CHECKING:
    from reference_engine.interface import TokenizerBackend

# Where the bias is ignored, an answer is hardly ever one piece again and again, nor one word less.
BY_CHANCE = 0.01
_FORCED_TOKENS = 8
_FORCE, _BAN = 100, -100


def forced(lab: Laboratory) -> Iterator[Trial]:
    for place, (draw, _, ids) in enumerate(_biased(lab)):
        messages = wording.fruitless_question(draw)
        biased = lab.greedy(messages, _FORCED_TOKENS, logit_bias={str(ids[0]): _FORCE})
        yield Trial("logit_bias.forced", "held", place, biased)


def banned(lab: Laboratory) -> Iterator[Trial]:
    """Of endpoints that take a limit of one token, and none of others. The arm `known` shows what an id stands for."""
    if lab.capabilities.min_max_tokens > 1:
        return
    for place, (draw, word, ids) in enumerate(_biased(lab)):
        messages = wording.one_word(draw, word)
        force, ban = {str(ids[0]): _FORCE}, {str(one): _BAN for one in ids}
        yield Trial("logit_bias.banned", "free", place, lab.greedy(messages, 1))
        yield Trial("logit_bias.banned", "known", place, lab.greedy(messages, 1, logit_bias=force))
        yield Trial("logit_bias.banned", "held", place, lab.greedy(messages, 1, logit_bias=ban))


def _biased(lab: Laboratory) -> Iterator[tuple[Draw, str, list[int]]]:
    """A word for each trial, and the tokens with which it may begin."""
    if lab.tokenizer is None:
        return
    for place in range(lab.trials):
        draw = lab.draw("logit_bias", place)
        word = draw.choice((*WORDS["thing"], *WORDS["animal"]))
        spellings = (f" {word}", word, f" {word.capitalize()}", word.capitalize())
        ids = [lab.tokenizer.tokenize(spelling, parse_special=False) for spelling in spellings]
        yield draw, word, list(dict.fromkeys(one[0] for one in ids if one))


def judge_banned(arms: Arms, _: Arm, tokenizer: TokenizerBackend | None) -> Judgement:
    """By those trials alone in which an id was seen to mean at the endpoint what it means to the tokenizer."""
    held, known = arms.get("held", Arm()), arms.get("known", Arm())
    if refused := judge_refusals("logit_bias", "banned", held):
        return refused
    sure = [place for place in held.samples if any(_says_its_token(one, tokenizer) for one in known.at(place))]
    arms = {**arms, "held": Arm({place: held.samples[place] for place in sure})}
    banned = frozenset(text for sample in held.all() for text in _texts(sample, tokenizer))
    return judge_rule("logit_bias", "banned", arms, banned_tokens_are_missing(banned), by_chance=BY_CHANCE)


def _says_its_token(sample: Sample, tokenizer: TokenizerBackend | None) -> bool:
    answer = answer_of(sample)
    return answer is not None and said(answer).strip() in _texts(sample, tokenizer)


def _texts(sample: Sample, tokenizer: TokenizerBackend | None) -> list[str]:
    """What the tokens of a request's bias stand for."""
    if tokenizer is None:
        return []
    ids = map(int, sample.request["logit_bias"])
    return [tokenizer.token_bytes(one).decode("utf-8", "replace").strip() for one in ids]

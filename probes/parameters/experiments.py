"""Which trials are made for each parameter, and which judge reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from probes import grammar
from probes.parameters import bias, rules, wording
from probes.parameters.judgement import Judgement
from probes.parameters.laboratory import Laboratory
from probes.parameters.narrowing import judge_narrowing, judge_temperature
from probes.parameters.rules import Rule, judge_invalid, judge_rule
from probes.parameters.trial import Arm, Arms, Trial

if TYPE_CHECKING:
    from reference_engine.interface import TokenizerBackend

# Small enough that the likeliest token alone is left, and not so small that it is no number for a server.
_NEEDLE_TOP_P = 1e-4
_ANSWER_TOKENS = 512
_CUT_TOKENS = 8
_STORY_TOKENS = 64
# No English text of so many tokens is without them, whatever a model makes of its instructions.
_IN_ALL_TEXTS = ("e", "th", "in", "an")
# How often, at most, an answer would keep the rule where the parameter is ignored.
_BY_CHANCE = {
    "stop": 0.01,
    "max_tokens": 0.01,
    "n": 0.01,
    "logit_bias": bias.BY_CHANCE,
    "response_format": 0.1,
    "tool_choice": 0.1,
}


@dataclass(frozen=True, slots=True)
class Experiment:
    """`judge` reads the arms of the experiment and the shared free arm of twins."""

    name: str
    parameter: str
    trials: Callable[[Laboratory], Iterator[Trial]]
    judge: Callable[[Arms, Arm, TokenizerBackend | None], Judgement]


def free_twins(lab: Laboratory) -> Iterator[Trial]:
    """The free arm that temperature, top_p, top_k and seed are held against."""
    yield from _twins(lab, "free", "free", {})


def _twins(lab: Laboratory, experiment: str, arm: str, held: Mapping[str, Any]) -> Iterator[Trial]:
    for place, prompt in enumerate(grammar.single_use(lab.seed, lab.nonce, lab.pairs)):
        for rep in range(2):
            yield Trial(experiment, arm, place, {**lab.free(list(prompt.messages)), **held}, rep)


def _narrowing(name: str, value: Any) -> Experiment:
    def trials(lab: Laboratory) -> Iterator[Trial]:
        yield from _twins(lab, name, "held", {name: value})

    def judge(arms: Arms, free: Arm, _: TokenizerBackend | None) -> Judgement:
        held = arms.get("held", Arm())
        return judge_temperature(free, held) if name == "temperature" else judge_narrowing(name, free, held)

    return Experiment(name, name, trials, judge)


def _ruled(parameter: str, aspect: str, trials: Callable[[Laboratory], Iterator[Trial]], rule: Rule) -> Experiment:
    def judge(arms: Arms, _: Arm, __: TokenizerBackend | None) -> Judgement:
        return judge_rule(parameter, aspect, arms, rule, by_chance=_BY_CHANCE[parameter])

    return Experiment(_name(parameter, aspect), parameter, trials, judge)


def _name(parameter: str, aspect: str) -> str:
    return f"{parameter}.{aspect}" if aspect else parameter


def _stop(lab: Laboratory) -> Iterator[Trial]:
    for place, prompt in enumerate(grammar.long_answers(lab.seed, lab.nonce, lab.trials)):
        messages, stop = list(prompt.messages), lab.draw("stop", place).choice(_IN_ALL_TEXTS)
        yield Trial("stop", "free", place, lab.greedy(messages, _STORY_TOKENS))
        yield Trial("stop", "held", place, lab.greedy(messages, _STORY_TOKENS, stop=[stop]))


def _max_tokens(lab: Laboratory) -> Iterator[Trial]:
    for place, prompt in enumerate(grammar.long_answers(lab.seed, lab.nonce, lab.trials)):
        yield Trial("max_tokens", "held", place, lab.greedy(list(prompt.messages), _CUT_TOKENS))


def _n(lab: Laboratory) -> Iterator[Trial]:
    for place in range(lab.trials):
        messages = wording.fruitless_question(lab.draw("n", place))
        yield Trial("n", "held", place, lab.body(messages, _CUT_TOKENS, n=2))


def _json_object(lab: Laboratory) -> Iterator[Trial]:
    for place in range(lab.trials):
        messages = wording.plain_sentence(lab.draw("json_object", place))
        body = lab.greedy(messages, _ANSWER_TOKENS, response_format={"type": "json_object"})
        yield Trial("response_format.json_object", "held", place, body)


def _json_schema(lab: Laboratory) -> Iterator[Trial]:
    for place in range(lab.trials):
        draw = lab.draw("json_schema", place)
        messages, schema = wording.fruitless_question(draw), wording.secret_schema(draw)
        named = {"name": "answer", "strict": True, "schema": schema}
        body = lab.greedy(messages, _ANSWER_TOKENS, response_format={"type": "json_schema", "json_schema": named})
        yield Trial("response_format.json_schema", "held", place, body)


def _tool_choice(aspect: str) -> Callable[[Laboratory], Iterator[Trial]]:
    def trials(lab: Laboratory) -> Iterator[Trial]:
        for place in range(lab.trials):
            draw = lab.draw("tool_choice", aspect, place)
            stock, hours = wording.stock_tool(draw), wording.hours_tool(draw)
            ask = wording.small_talk if aspect == "required" else wording.stock_question
            choice = {"type": "function", "function": {"name": hours["function"]["name"]}}
            body = lab.greedy(ask(draw), _ANSWER_TOKENS, tools=[stock, hours] if aspect == "named" else [stock])
            held = {**body, "tool_choice": choice if aspect == "named" else aspect}
            yield Trial(f"tool_choice.{aspect}", "free", place, body)
            yield Trial(f"tool_choice.{aspect}", "held", place, held)

    return trials


# Two values that mean nothing for each: one of the wrong size, one of the wrong kind.
_INVALID: Mapping[str, tuple[Any, Any]] = {
    "temperature": (-1, "warm"),
    "top_p": (2, "wide"),
    "n": (0, "two"),
    "seed": ("seven", {}),
    "stop": (7, {"at": "once"}),
    "max_tokens": (-3, "few"),
    "logit_bias": ("much", {"any": "more"}),
    "response_format": ({"type": "poem"}, "json"),
    "tool_choice": ("sometimes", {"type": "wish"}),
}


def _invalid(parameter: str) -> Experiment:
    name = f"{parameter}.invalid"

    def trials(lab: Laboratory) -> Iterator[Trial]:
        sent_as = lab.capabilities.token_limit_parameter if parameter == "max_tokens" else parameter
        for place, value in enumerate(_INVALID[parameter]):
            draw = lab.draw("invalid", parameter, place)
            body = lab.greedy(wording.fruitless_question(draw), _CUT_TOKENS)
            tools = {"tools": [wording.stock_tool(draw)]} if parameter == "tool_choice" else {}
            yield Trial(name, "held", place, {**body, **tools, sent_as: value})

    def judge(arms: Arms, _: Arm, __: TokenizerBackend | None) -> Judgement:
        return judge_invalid(parameter, arms.get("held", Arm()))

    return Experiment(name, parameter, trials, judge)


EXPERIMENTS: tuple[Experiment, ...] = (
    _narrowing("temperature", 0),
    _narrowing("top_p", _NEEDLE_TOP_P),
    _narrowing("top_k", 1),
    _narrowing("seed", 20_011),
    _ruled("stop", "", _stop, rules.stop_ends_the_text),
    _ruled("max_tokens", "", _max_tokens, rules.max_tokens_ends_the_text),
    _ruled("n", "", _n, rules.as_many_choices),
    _ruled("logit_bias", "forced", bias.forced, rules.forced_token_is_all),
    Experiment("logit_bias.banned", "logit_bias", bias.banned, bias.judge_banned),
    _ruled("response_format", "json_object", _json_object, rules.content_is_json),
    _ruled("response_format", "json_schema", _json_schema, rules.content_follows_the_schema),
    _ruled("tool_choice", "none", _tool_choice("none"), rules.nothing_is_called),
    _ruled("tool_choice", "required", _tool_choice("required"), rules.something_is_called),
    _ruled("tool_choice", "named", _tool_choice("named"), rules.the_named_is_called),
    *map(_invalid, _INVALID),
)
TWINNED = frozenset({"temperature", "top_p", "top_k", "seed"})

"""What an earlier release stored is read: `stored_forms.yaml` has what each wrote, last what is written now."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from monitor.drift.accumulated import Accumulated
from monitor.drift.candidates import Hypotheses
from monitor.drift.evidence import Combining, Counts, ExactP, Factors, Inapplicable, LogLikelihoods, Null, Scores
from monitor.drift.first_baseline import AgainstFirst, LevelMove, MeansMove
from monitor.drift.interval import Interval
from monitor.drift.protocol import EffectSeen, ProtocolFacts
from monitor.drift.score_stream import StreamRule
from monitor.store import accumulated, bodies, first_codec, grades, loops, protocol_facts, scored, stream_evidence
from monitor.store.frames import compress, decompress
from monitor.store.stream_codec import plain_rule, rule_of
from probes.evals.grade import Graded, Reason, wrong
from probes.parameters.judgement import Effect
from probes.tools.case import Category
from probes.tools.ladder import Info, Repair, Rung
from probes.tools.matchers import LeafMatch
from probes.tools.scored import Fault, ScoredCall
from probes.wire.argument_schema import SchemaFault
from tests.monitor.drift.graded_loops import loop
from tests.monitor.drift.scored_answers import called
from tests.monitor.drift.scored_answers import scored as scored_answer
from tests.monitor.store.material import sample

FILE = Path(__file__).with_name("stored_forms.yaml")
FAULT = SchemaFault("", "required", "lark_kind", 2)
CALL = ScoredCall(
    "book_lark", Rung.INVALID_JSON, Rung.SCHEMA_MISMATCH, Repair.DOUBLE_ENCODED, FAULT, "tool call",
    draft7=True, infos=frozenset({Info.RUN_TOGETHER}), expected=1, judged=True, arguments_sha256="0a" * 32,
)  # fmt: skip
INTERVAL = Interval(0.1, 0.3, 0.9)
CALLED = called("0" * 64, times=1, of=2, category=Category.T3)


@dataclass(frozen=True)
class Form:
    """`value` has something in every field; `text` is what is written of it, `read` the way back."""

    value: Any
    text: Callable[[Any], str]
    read: Callable[[str], Any]


def framed(head: bytes, encode: Callable[[Any], bytes], decode: Callable[[bytes], Any], value: Any) -> Form:
    def text(one: Any) -> str:
        return decompress(encode(one)[len(head) :], at_most=2**20).decode()

    return Form(value, text, lambda found: decode(head + compress(found.encode())))


def plain(head: bytes, encode: Callable[[Any], bytes], decode: Callable[[bytes], Any], value: Any) -> Form:
    return Form(value, lambda one: encode(one)[len(head) :].decode(), lambda found: decode(head + found.encode()))


def statement(value: Any) -> Form:
    return Form(
        value,
        lambda one: json.dumps(stream_evidence.plain(one)),
        lambda found: stream_evidence.statement(json.loads(found)),
    )


def rule(value: StreamRule) -> Form:
    return Form(value, lambda one: json.dumps(plain_rule(one)), lambda found: rule_of(json.loads(found)))


def against(value: AgainstFirst) -> Form:
    return Form(value, first_codec.encode_against, first_codec.decode_against)


FORMS = {
    "tool-call answer": framed(
        b"SCO\x01",
        scored.encode_scored,
        scored.decode_scored,
        scored_answer(
            finish_reason="tool_calls",
            called=True,
            calls=(CALL,),
            matches=(LeafMatch(3, 4),),
            faults=frozenset({Fault.CALL_BROKEN}),
            content_fault=FAULT,
            right=False,
        ),
    ),
    "agent loop": plain(
        b"LOO\x01", loops.encode_loop, loops.decode_loop, loop("harbour", 1, kind="berths", struck=True)
    ),
    "grade": plain(
        b"GRA\x01", grades.encode_grade, grades.decode_grade, Graded("0f" * 32, 3, wrong(Reason.DIFFERENT), 2)
    ),
    "protocol facts": framed(
        b"PRO\x01",
        protocol_facts.encode_facts,
        protocol_facts.decode_facts,
        ProtocolFacts({"seed": EffectSeen(Effect.ACTS, 0.5)}, {"id": {"form": {"hex": 3}}}, {"one": 4}, {"plain": 12}),
    ),
    "accumulated calls": framed(
        b"ACC\x01", accumulated.encode_accumulated, accumulated.decode_accumulated, Accumulated.start("run_1", CALLED)
    ),
    "exchange": framed(b"", bodies.pack, bodies.unpack, sample("a", 2)),
    "comparison with the first": against(
        AgainstFirst(
            2,
            LevelMove(0.1, 0.3, 0.2, INTERVAL, 0.02, 0.001, (14, 4)),
            1.5,
            MeansMove(0.07, INTERVAL, 0.01, 0.2, 8),
            2.5,
        )
    ),
    "rule": rule(StreamRule(8, 20, 10, 0.03, 0.5, 4)),
    "scores": statement(Scores((0.25, 1.0))),
    "counts": statement(Counts((("case", 0.5),), 12, 1.0, 3, "week")),
    "factors": statement(Factors((0.5, float("inf")), Null.REFERENCE, Combining.MULTIPLY)),
    "p-value": statement(ExactP(0.25, Null.EXCHANGEABLE, Combining.AVERAGE)),
    "log-likelihoods": statement(LogLikelihoods(Hypotheses(("int8",), ("bf16", "m0"), 100), ((-1.5, -1.25, -1.75),))),
    "nothing to say": statement(Inapplicable("no log-probabilities")),
}
STORED = yaml.safe_load(FILE.read_text())


@pytest.mark.parametrize("name", FORMS)
def test_what_is_written_is_the_last_form_that_is_kept(name: str) -> None:
    """Where it is not, add what is written now to the file, and leave what is there."""
    form = FORMS[name]
    assert json.loads(form.text(form.value)) == STORED[name][-1]


@pytest.mark.parametrize(("name", "stored"), [(name, each) for name, all_ in STORED.items() for each in all_])
def test_every_form_that_ever_was_is_read(name: str, stored: Any) -> None:
    form = FORMS[name]
    assert repr(form.read(json.dumps(stored))) == repr(form.read(form.text(form.value)))

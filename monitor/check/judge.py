"""Holds a run's samples against its reference and its past: from answers to findings, with nothing written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from monitor import clock
from monitor.check.ledger import Past
from monitor.check.observe import observe
from monitor.check.options import Progress
from monitor.check.reference import OpenReference
from monitor.check.reference_side import Conversing, ask_reference, converses
from monitor.check.remote_answers import RemoteAnswers, without_endpoint_reference
from monitor.drift.assess import assess, explain, needs_explanation
from monitor.drift.cause import ENDPOINT
from monitor.drift.endpoint_reference import Served
from monitor.drift.findings import Assessment
from monitor.drift.material import Material, Reference, measured_candidates, without_cached
from monitor.drift.observation import Observation
from monitor.expectation import Expectation, all_candidates, expect, messages_of, token_steps
from probes.evals.judge import ReferenceJudge
from probes.plan import Plan, ProbeKind, Sample
from reference_engine import EngineError

if TYPE_CHECKING:
    from monitor.check.evals import EvalAnswers, Grading
    from monitor.check.loops import LoopAnswers
    from monitor.check.protocol import ProtocolAnswers
    from monitor.check.remote_side import RemoteSide
    from monitor.check.tool_calls import ToolAnswers
    from monitor.verdict import ReferenceStatement
    from probes.loops.plan import LoopPlan
    from probes.tools.plan import ToolPlan

# Two profiles that differ by 0.03 nat are told apart by about ten prompts.
_PROMPTS_FOR_CAUSES = 12


@dataclass(frozen=True, slots=True)
class Judged:
    """What was found in `material`, by which checks; `allowed` are the profiles it was held against, `served` what a
    reference that is another endpoint called itself."""

    allowed: tuple[str, ...]
    checks: tuple[ProbeKind, ...]
    material: Material
    found: Assessment
    served: Served | None = None

    @property
    def may_join(self) -> bool:
        """Whether its run may be part of a baseline: not where what it was held against is not what that was."""
        return self.material.reference is None or self.material.reference.held is None


class Judge:
    """Judges by the checks among `wanted`; `progress` hears of each candidate that the reference scores. `nonce` is the
    check's: what the reference's own answers are drawn with. `answering_s` is the time that it has from now on for all
    of them, whichever probes ask it; None: as long as it takes. `remote` has the answers of a reference that is another
    endpoint."""

    def __init__(
        self,
        reference: OpenReference,
        wanted: Sequence[ProbeKind],
        progress: Progress,
        *,
        nonce: bytes,
        answering_s: float | None = None,
        remote: RemoteSide | None = None,
    ) -> None:
        self._reference = reference
        self._wanted = wanted
        self._progress = progress
        self._nonce = nonce
        self._answered_by = None if answering_s is None else clock.monotonic() + answering_s
        self._remote = None if remote is None else RemoteAnswers(remote)

    @property
    def converses(self) -> bool:
        return converses(self._reference.engine)

    @property
    def allowed(self) -> tuple[str, ...]:
        return self._reference.allowed if self._remote is None else (ENDPOINT,)

    @property
    def fingerprint(self) -> str | None:
        """Of the reference, where it has weights or is another endpoint."""
        return None if self._reference.identity is None else self._reference.identity.fingerprint

    @property
    def comparable(self) -> str | None:
        """The same where its earlier answers may be held against these: not of one that moved since."""
        return None if self._remote is not None and self._remote.moved is not None else self.fingerprint

    @property
    def beside(self) -> ReferenceStatement | None:
        """What was asked of a reference that is another endpoint; None where there is none."""
        return None if self._remote is None else self._remote.statement()

    def judge(
        self, probe: ProbeKind, samples: Sequence[Sample], past: Past, *, no_baseline_reason: str, shares: int
    ) -> Judged:
        """Causes are looked for only where something was found: that is when every candidate is scored."""
        checks = tuple(kind for kind in dict.fromkeys((probe, ProbeKind.ACCOUNTING)) if kind in self._wanted)
        if self._remote is not None:
            material = self._remote.material(probe, samples, past, checks, self._reference.identity)
            found = assess(material, no_baseline_reason=no_baseline_reason, shares=shares)
            return Judged(self.allowed, checks, material, found, self._remote.served)
        candidates = measured_candidates(self._reference.allowed)
        expected = self._expect(probe, samples, candidates, {})
        material = self._material(probe, samples, past, expected, candidates, checks)
        found = assess(material, no_baseline_reason=no_baseline_reason, shares=shares)
        if self._reference.engine is not None and needs_explanation(found):
            candidates = all_candidates(self._reference.engine, self._reference.allowed)
            expected |= self._expect(probe, _first_prompts(samples), candidates, expected)
            material = self._material(probe, samples, past, expected, candidates, checks)
            found = explain(material, found)
        return Judged(self._reference.allowed, checks, material, found)

    def tool_answers(self, plan: ToolPlan, samples: Sequence[Sample]) -> ToolAnswers:
        """The answers scored, and those of the reference to the same requests where there is one that converses. Where
        it fails, that is no fault of the endpoint's answers."""
        from monitor.check.tool_calls import ToolAnswers, asked_of, score_all

        now, engine = score_all(plan, samples), self._reference.engine
        if self._remote is not None:
            theirs = score_all(plan, self._remote.answers(ProbeKind.TOOL_CALLS))
            return ToolAnswers(now, theirs, self._remote.no_answer)
        if not converses(engine):
            return ToolAnswers(now, ())
        told = partial(self._progress.step, "reference: tool calls")
        counted = asked_of(plan, samples)
        try:
            asked = self._asked(engine, counted, told)
        except EngineError:
            return ToolAnswers(now, (), "the reference could not be asked")
        return ToolAnswers(now, score_all(plan, asked))

    def loop_answers(self, plan: LoopPlan, samples: Sequence[Sample]) -> LoopAnswers:
        """What the loops came to, and those of the reference where there is one that converses. That it fails is no
        fault of the endpoint's loops: they are judged all the same."""
        from monitor.check.loops import LoopAnswers, asked_of, side_of
        from monitor.drift.loop_assess import LoopSide

        now, engine = side_of(plan, samples), self._reference.engine
        if self._remote is not None:
            theirs = side_of(plan, self._remote.answers(ProbeKind.AGENT_LOOPS))
            return LoopAnswers(now, theirs, self._remote.no_answer)
        if not converses(engine):
            return LoopAnswers(now, LoopSide(), "no reference that answers")
        told = partial(self._progress.step, "reference: agent loops")
        same = asked_of(plan, samples, now)
        try:
            asked = self._asked(engine, same, told)
        except EngineError:
            return LoopAnswers(now, LoopSide(), "the reference could not be asked")
        return LoopAnswers(now, side_of(plan, asked), "the reference gave no answer")

    def greedy_answers(self, samples: Sequence[Sample]) -> list[Observation] | str:
        """The answers as the reference reads them; why it does not, where it does not."""
        from monitor.check.greedy import read_by

        engine = self._reference.engine
        if engine is None:
            return "no reference that could read the answers"
        told = partial(self._progress.step, "reference: greedy answers")
        try:
            return read_by(engine, self._reference.allowed[0], samples, told)
        except EngineError:
            return "the reference could not be asked"

    def protocol_answers(self, samples: Sequence[Sample]) -> ProtocolAnswers:
        from monitor.check.protocol import protocol_answers

        return protocol_answers(samples, self._reference.tokenizer)

    def eval_answers(self, grading: Grading) -> EvalAnswers:
        """The grades, and those of the reference's answers to the same items where there is one that converses. That it
        fails is no fault of the endpoint's answers: they are graded all the same."""
        from monitor.check.evals import EvalAnswers, not_compared

        engine, allowed = self._reference.engine, self._reference.allowed
        now, bias = grading.grades(), grading.bias()
        if self._remote is not None:
            with closing(grading.again(None)) as theirs:
                for sample in self._remote.answers(ProbeKind.EVALS):
                    theirs.take(sample)
                return EvalAnswers(now, theirs.grades(), not_compared(self._remote.no_answer), bias)
        if not converses(engine):
            return EvalAnswers(now, (), not_compared("no reference that answers"), bias)
        told = partial(self._progress.step, "reference: evals")
        judge = ReferenceJudge(engine, profile=allowed[0]) if grading.needs_judge else None
        with closing(grading.again(judge)) as theirs:
            try:
                for sample in self._asked(engine, grading.whole, told):
                    theirs.take(sample)
            except EngineError:
                return EvalAnswers(now, (), not_compared("the reference could not be asked"), bias)
            return EvalAnswers(now, theirs.grades(), not_compared("the reference gave no answer"), bias)

    def _asked(self, engine: Conversing, plan: Plan, told: Callable[[], None]) -> list[Sample]:
        within_s = None if self._answered_by is None else max(0.0, self._answered_by - clock.monotonic())
        return ask_reference(engine, self._reference.allowed[0], plan, told, nonce=self._nonce, within_s=within_s)

    def _expect(
        self,
        probe: ProbeKind,
        samples: Sequence[Sample],
        candidates: Sequence[str],
        known: Mapping[str, Expectation],
    ) -> dict[str, Expectation]:
        engine = self._reference.engine
        if engine is None or probe is not ProbeKind.LOGPROBS:
            return {}
        messages = {s.item.key: messages_of(s.item.request) for s in samples if s.completion is not None}
        return expect(engine, self._reference.allowed[0], candidates, messages, known, self._scoring)

    def _scoring(self, candidate: str) -> None:
        self._progress.step(f"reference: {candidate}")

    def _material(
        self,
        probe: ProbeKind,
        samples: Sequence[Sample],
        past: Past,
        expected: Mapping[str, Expectation],
        candidates: Sequence[str],
        checks: Sequence[ProbeKind],
    ) -> Material:
        engine = self._reference.engine
        reference = None
        if engine is not None and expected:
            steps = token_steps(engine, [messages_of(sample.item.request) for sample in samples])
            reference = Reference(self._reference.allowed, tuple(candidates), steps)
        return Material(
            new=observe(probe, samples, expected, self._reference.tokenizer),
            baseline=[
                observation
                for run in past.runs
                for observation in without_endpoint_reference(
                    run.reference_fingerprint, without_cached(run.observations)
                )
            ],
            same_reference=self._same_reference(past),
            reference=reference,
            judged=frozenset(kind.value for kind in checks),
        )

    def _same_reference(self, past: Past) -> list[Observation]:
        identity = self._reference.identity
        return [
            observation
            for run in past.runs
            if identity is not None and run.reference_fingerprint == identity.fingerprint
            for observation in without_cached(run.observations)
        ]


def _first_prompts(samples: Sequence[Sample]) -> list[Sample]:
    """The samples of the first prompts asked: enough to tell causes apart, at a fraction of the reference's time."""
    keys = list(dict.fromkeys(sample.item.key for sample in samples if sample.completion is not None))
    chosen = set(keys[:_PROMPTS_FOR_CAUSES])
    return [sample for sample in samples if sample.item.key in chosen]

"""Finishes a check: its runs are judged and closed in the ledger, and become one verdict document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from monitor import clock
from monitor.check.ask import Asked
from monitor.check.baseline_change import baseline_change, eval_baseline_change, wide_baseline_change
from monitor.check.causes import CheckCauses
from monitor.check.conclude import (
    check_of,
    counted_verdicts,
    evidence_records,
    fidelity_statement,
    metric_points,
    quirk_counts,
    record_of,
)
from monitor.check.feed import cases_of, listings_of, moved_most, singles_of
from monitor.check.judge import Judge, Judged
from monitor.check.latency import (
    Speed,
    latency_check,
    latency_evidence,
    latency_points,
    move_values,
    moves,
    moves_before,
    speed,
)
from monitor.check.ledger import MOST_BASELINE_RUNS, Ledger, Past, run_result
from monitor.check.observe import observe
from monitor.check.plans import Planned
from monitor.check.recall import checks_of, fidelity_of, said_of, with_said
from monitor.check.telling import telling_counts, telling_logprobs
from monitor.config import EndpointConfig
from monitor.drift.findings import Finding
from monitor.drift.latency_past import REACH
from monitor.drift.rule import Verdict, roll_up
from monitor.drift.run_sightings import of_draws, of_greedy
from monitor.drift.stack import stack_digest
from monitor.redaction import redact_known
from monitor.standing import STREAMS
from monitor.store import BaselineRole, RunResult, RunStatus
from monitor.store.series import Span
from monitor.store.stream_records import Fed
from monitor.store.text import foreign_id
from monitor.usage import Reported
from monitor.verdict import (
    ENROLLED,
    BaselineValue,
    Check,
    Cost,
    FidelityStatement,
    LatencyMoveValue,
    Said,
    VerdictDocument,
)
from probes.grammar import GRAMMAR_VERSION
from probes.plan import Plan, ProbeKind, Sample
from reference_engine import BARE_ANSWER_TOKENS

if TYPE_CHECKING:
    from monitor.check.evals import Grading
    from monitor.check.protocol import ProtocolAnswers
    from monitor.drift.border_scores import BorderInputs
    from monitor.drift.border_stages import Enrolling
    from monitor.drift.broken_calls import CaseCalls
    from monitor.drift.evidence import Evidence
    from monitor.drift.listing import Listing
    from monitor.drift.observation import Observation
    from monitor.drift.sightings import Sighting
    from probes.loops.plan import LoopPlan
    from probes.tools.plan import ToolPlan

_LONGEST_NAME = 256


class AskedCheck:
    """The second half of a check: everything was asked, nothing is judged yet."""

    def __init__(
        self,
        endpoint: EndpointConfig,
        ledger: Ledger,
        planned: Planned,
        asked: Asked,
        judge: Judge,
        grading: Grading | None = None,
        rounds_a_day: int | None = None,
    ) -> None:
        self._endpoint = endpoint
        self._ledger = ledger
        self._planned = planned
        self._asked = asked
        self._judge = judge
        self._grading = grading
        self._rounds_a_day = rounds_a_day
        self._enrolled = False
        self._baselines: list[BaselineValue] = []
        self._causes = CheckCauses(moved=ledger.streams_moved)

    def finish(self, started: datetime) -> VerdictDocument:
        planned = self._planned
        checks: list[Check] = []
        said = Said()
        found_speed = Speed()
        moved: tuple[LatencyMoveValue, ...] = ()
        fidelity = FidelityStatement(verdict=Verdict.INAPPLICABLE, reason="log-probabilities were not probed")
        for plan in planned.plans:
            samples = self._samples(plan)
            if plan.probe is ProbeKind.LATENCY:
                found_speed = speed(plan, planned.load, samples, self._endpoint)
            before = self._ledger.found_before(plan.probe)
            if before is not None:
                checks += [one for one in checks_of(before.evidence) if one.probe != STREAMS]
                told = said_of(before.evidence)
                said = said.beside(told)
                self._causes.recall(told)
                fidelity = fidelity_of(before.evidence, self._judge.allowed) or fidelity
                self._enrolled = self._enrolled or before.role is BaselineRole.ENROLMENT
                moved = moved or moves_before(before.evidence)
            elif plan.probe is ProbeKind.LATENCY:
                check, moved, told = self._finish_latency(found_speed, samples, started)
                checks, said = [*checks, check], said.beside(told)
            elif planned.tools is not None and plan.probe is ProbeKind.TOOL_CALLS:
                found, told = self._finish_tools(planned.tools, samples)
                checks, said = checks + found, said.beside(told)
            elif plan.probe is ProbeKind.SAMPLING:
                checks.append(self._finish_sampling(samples))
            elif plan.probe is ProbeKind.GREEDY:
                checks.append(self._finish_greedy(samples))
            elif planned.border is not None and plan.probe is ProbeKind.BORDER:
                checks.append(self._finish_border(planned.border, samples))
            elif plan.probe is ProbeKind.PROTOCOL:
                found, told = self._finish_protocol(self._judge.protocol_answers(samples), samples)
                checks, said = checks + found, said.beside(told)
            elif self._grading is not None and plan.probe is ProbeKind.EVALS:
                found, told = self._finish_evals(self._grading, samples)
                checks, said = checks + found, said.beside(told)
            elif planned.loops is not None and plan.probe is ProbeKind.AGENT_LOOPS:
                found, told = self._finish_loops(planned.loops, samples)
                checks, said = checks + found, said.beside(told)
            else:
                judged = self._finish_judged(plan.probe, samples)
                checks += [self._check_of(kind, judged, samples) for kind in judged.checks]
                if plan.probe is ProbeKind.LOGPROBS:
                    fidelity = fidelity_statement(judged.found.fidelity, judged.allowed)
        causes, ruler = self._causes.told()
        checks += checks_of(self._ledger.streams_told())
        everything = self._asked.all_samples
        return VerdictDocument(
            provider=self._endpoint.provider,
            model=self._endpoint.model,
            endpoint=self._endpoint.base_url,
            served_model=_served_model(everything),
            verdict=roll_up([*counted_verdicts(checks), fidelity.verdict]),
            enrolled=self._enrolled,
            partial=self._asked.stop is not None,
            baselines=tuple(self._baselines),
            saved=self._ledger.writes,
            checks=tuple(checks),
            causes=causes,
            ruler=ruler,
            latency=found_speed.values,
            latency_moves=moved,
            load=found_speed.load,
            rates=said.rates,
            variants=said.variants,
            loops=said.loops,
            answer_tokens=planned.answer_tokens,
            reference_answer_tokens=BARE_ANSWER_TOKENS if planned.leaves_open and self._judge.converses else None,
            parameters=said.parameters,
            protocol=said.protocol,
            fidelity=fidelity,
            cost=self._cost(everything),
            reference=self._judge.beside,
            quirks=quirk_counts(everything),
            run_ids=self._ledger.run_ids,
            started_at=started,
            finished_at=clock.now(),
        )

    def _samples(self, plan: Plan) -> list[Sample]:
        """In the plan's order, so that it is all the same in which one the answers came; then its conversations'."""
        places = {(item.key, item.rep): place for place, item in enumerate(plan.items)}
        samples = self._asked.samples.get(plan.probe, [])
        return sorted(samples, key=lambda sample: places.get((sample.item.key, sample.item.rep), len(places)))

    def _cost(self, samples: Sequence[Sample]) -> Cost:
        used = Reported.of(samples)
        return Cost(
            requests=sum(len(sample.attempts) for sample in samples),
            tokens_in=used.prompt,
            tokens_out=used.completion,
            without_usage=used.untold,
            usd=used.usd(self._endpoint.prices),
        )

    def _finish_judged(self, probe: ProbeKind, samples: Sequence[Sample]) -> Judged:
        past = self._ledger.past(probe)
        self._compared_with(past)
        judged = self._judge.judge(
            probe, samples, past, no_baseline_reason=self._no_baseline_reason(), shares=self._planned.shares
        )
        evidence = evidence_records(judged.found, judged.checks, Reported.of(samples).total, judged.served)
        role = self._ledger.finish(
            probe,
            replace(
                self._result(samples),
                observations=judged.material.new,
                evidence=with_said(evidence, self._causes.take_judged(judged)),
                metric_points=metric_points(judged.found, judged.checks),
                baseline=baseline_change(past, judged) if self._may_be_baseline else None,
                fed=self._fed(
                    {ProbeKind.ACCOUNTING.value: judged.found.accounting}
                    if ProbeKind.ACCOUNTING in judged.checks
                    else {},
                    samples,
                    listings_of(judged.material.new) if probe is ProbeKind.LOGPROBS else (),
                    singles_of(self._ledger.endpoint_id, judged.material) if probe is ProbeKind.LOGPROBS else (),
                ),
            ),
        )
        self._enrolled = self._enrolled or role is BaselineRole.ENROLMENT
        return judged

    def _finish_tools(self, plan: ToolPlan, samples: Sequence[Sample]) -> tuple[list[Check], Said]:
        from monitor.check.profiles import variants_of
        from monitor.check.tool_calls import accumulated, ambiguous_of, findings_of, rate_points, rate_values
        from monitor.check.variants import tool_variants
        from monitor.drift.by_kind import CaseSide
        from monitor.drift.tool_assess import assess_tools

        answers = self._judge.tool_answers(plan, samples)
        before = self._ledger.past_tools(plan.plan.suite_version, self._judge.comparable if answers.reference else None)
        self._compared_with(before.past)
        found = assess_tools(
            answers.now,
            past=before.accepted,
            kindred=CaseSide(before.alike, before.reference),
            reference=answers.reference,
            no_past=self._no_baseline_reason(),
            no_reference=answers.no_reference,
            shares=self._planned.shares,
        )
        adds_up = accumulated(self._ledger.last_accumulated(), before.past, before.accepted, answers.now)
        tokens = Reported.of(samples).total
        findings = findings_of(
            found, adds_up, self._ledger.screened, confirms=self._ledger.confirms, shares=self._planned.shares
        )
        moved = [finding for name, finding in findings.items() if name.startswith(ProbeKind.TOOL_CALLS.value)]
        findings |= ambiguous_of(self._planned.doubtful)
        told = tool_variants(answers.now, answers.reference, variants_of(samples))
        said = Said(rates=rate_values(answers), variants=told).beside(self._causes.take_tools(findings))
        role = self._ledger.finish(
            ProbeKind.TOOL_CALLS,
            replace(
                self._result(samples),
                accumulated=adds_up,
                scored=answers.now,
                reference_scored=answers.reference,
                evidence=with_said([record_of(name, finding, tokens) for name, finding in findings.items()], said),
                metric_points=rate_points(answers),
                baseline=wide_baseline_change(before.past, moved, answered=any(one.completed for one in answers.now))
                if self._may_be_baseline
                else None,
                fed=self._fed_of(ProbeKind.TOOL_CALLS, findings, samples, cases_of(answers.now, plan.anchors)),
            ),
        )
        self._enrolled = self._enrolled or role is BaselineRole.ENROLMENT
        return [check_of(name, finding, tokens) for name, finding in findings.items()], said

    def _finish_protocol(self, answers: ProtocolAnswers, samples: Sequence[Sample]) -> tuple[list[Check], Said]:
        from monitor.check.protocol import (
            findings_of,
            parameter_values,
            protocol_points,
            protocol_statement,
            stack_changes,
        )
        from monitor.drift.protocol import assess_protocol

        past, accepted = self._ledger.past_protocol()
        self._compared_with(past)
        found = assess_protocol(
            answers.facts, accepted, no_past=self._no_baseline_reason(), shares=self._planned.shares
        )
        tokens, findings = Reported.of(samples).total, findings_of(answers, found)
        said = Said(
            parameters=parameter_values(answers, found.before),
            protocol=protocol_statement(answers, found, self._endpoint.prices),
        ).beside(self._causes.take_protocol(findings))
        role = self._ledger.finish(
            ProbeKind.PROTOCOL,
            replace(
                self._result(samples),
                protocol=answers.facts,
                stack_changes=stack_changes(found),
                evidence=with_said([record_of(name, finding, tokens) for name, finding in findings.items()], said),
                metric_points=protocol_points(answers, found),
                baseline=wide_baseline_change(past, found.findings, answered=bool(answers.facts.variants))
                if self._may_be_baseline
                else None,
                fed=self._fed_of(ProbeKind.PROTOCOL, findings, samples),
            ),
        )
        self._enrolled = self._enrolled or role is BaselineRole.ENROLMENT
        return [check_of(name, finding, tokens) for name, finding in findings.items()], said

    def _finish_sampling(self, samples: Sequence[Sample]) -> Check:
        from monitor.check.sampling import assessed

        past, answers = self._ledger.past(ProbeKind.SAMPLING), observe(ProbeKind.SAMPLING, samples, {}, None)
        found = assessed(
            self._ledger.endpoint_id, answers, past, self._no_baseline_reason(), shares=self._planned.shares
        )
        seen = of_draws(found.evidence)
        return self._finish_watched(
            ProbeKind.SAMPLING, samples, answers, past, found.finding, found.evidence, seen=seen
        )

    def _finish_greedy(self, samples: Sequence[Sample]) -> Check:
        from monitor.check.greedy import assessed

        past, answers = self._ledger.past(ProbeKind.GREEDY), self._judge.greedy_answers(samples)
        if isinstance(answers, str):
            unread = Finding(Verdict.INAPPLICABLE, answers, n=len(samples))
            return self._finish_watched(ProbeKind.GREEDY, samples, (), past, unread, ())
        found = assessed(
            self._ledger.endpoint_id, answers, past, self._no_baseline_reason(), shares=self._planned.shares
        )
        seen = [of_greedy(answers, [one for run in past.runs for one in run.observations])]
        return self._finish_watched(ProbeKind.GREEDY, samples, answers, past, found.finding, found.evidence, seen=seen)

    def _finish_border(self, asked: BorderInputs | Enrolling, samples: Sequence[Sample]) -> Check:
        from monitor.drift.border_run import assess_border

        past, answers = self._ledger.past(ProbeKind.BORDER), observe(ProbeKind.BORDER, samples, {}, None)
        tokens, shares = Reported.of(samples).total or 0, self._planned.shares
        found = assess_border(self._ledger.endpoint_id, asked, answers, shares=shares, tokens=tokens)
        told, inputs = found.evidence, found.inputs
        return self._finish_watched(ProbeKind.BORDER, samples, answers, past, found.finding, told, inputs)

    def _finish_watched(
        self,
        probe: ProbeKind,
        samples: Sequence[Sample],
        answers: Sequence[Observation],
        past: Past,
        finding: Finding,
        told: tuple[Evidence, ...],
        border: BorderInputs | None = None,
        *,
        seen: Sequence[Sighting | None] = (),
    ) -> Check:
        """A probe of which streams make more than a run does. Border inputs are compared with those of enrolment."""
        if probe is not ProbeKind.BORDER:
            self._compared_with(past)
        tokens = Reported.of(samples).total
        change = wide_baseline_change(past, [finding], answered=bool(answers)) if self._may_be_baseline else None
        role = self._ledger.finish(
            probe,
            replace(
                self._result(samples),
                observations=answers,
                evidence=with_said([record_of(probe.value, finding, tokens)], self._causes.take(seen, [finding])),
                baseline=change,
                fed=self._fed({}, samples, evidence=told, border=border),
            ),
        )
        self._enrolled = self._enrolled or role is BaselineRole.ENROLMENT
        return check_of(probe.value, finding, tokens)

    def _finish_evals(self, grading: Grading, samples: Sequence[Sample]) -> tuple[list[Check], Said]:
        from monitor.check.eval_suite import suite_name
        from monitor.check.evals import assess_answers, findings_of, mostly_new, rate_points, rate_values, with_items_of
        from monitor.check.variants import eval_variants

        answers = self._judge.eval_answers(grading)
        past, runs = self._ledger.past_graded(suite_name(grading.plan))
        self._compared_with(past)
        accepted, new = with_items_of(runs, answers.now), mostly_new(runs, answers.now)
        found = assess_answers(answers, accepted, self._no_baseline_reason())
        tokens, findings = Reported.of(samples).total, findings_of(found)
        # A category's name is the suite's own, and stays out of the store.
        told = eval_variants(answers.now, answers.reference, grading.variants)
        said = Said(rates=rate_values(answers, grading.items), variants=told)
        said = said.beside(self._causes.take((), [found.drift]))
        kept = said.model_copy(update={"rates": said.rates[:1]})
        graded = any(one.grade.right is not None for one in answers.now)
        room = new or len(accepted) < MOST_BASELINE_RUNS
        change = eval_baseline_change(past, found.drift.verdict, new=new) if graded and room else None
        role = self._ledger.finish(
            ProbeKind.EVALS,
            replace(
                self._result(samples),
                graded=answers.now,
                reference_graded=answers.reference,
                evidence=with_said([record_of(name, finding, tokens) for name, finding in findings.items()], kept),
                metric_points=rate_points(answers),
                baseline=change if self._may_be_baseline else None,
                fed=self._fed_of(ProbeKind.EVALS, findings, samples),
            ),
        )
        # The first run of other items enrols them, also where another version's opened the baseline.
        self._enrolled = self._enrolled or (role is not None and new)
        return [check_of(name, finding, tokens) for name, finding in findings.items()], said

    def _finish_loops(self, plan: LoopPlan, samples: Sequence[Sample]) -> tuple[list[Check], Said]:
        from monitor.check.loops import findings_of, loop_values, rate_points, rate_values
        from monitor.drift.loop_assess import LoopSide, assess_loops

        answers = self._judge.loop_answers(plan, samples)
        past, turns, loops = self._ledger.past_loops()
        self._compared_with(past)
        found = assess_loops(
            answers.now,
            past=LoopSide(turns, loops),
            reference=answers.reference,
            no_past=self._no_baseline_reason(),
            no_reference=answers.no_reference,
            shares=self._planned.shares,
        )
        tokens, findings = Reported.of(samples).total, findings_of(found)
        said = Said(rates=rate_values(answers), loops=loop_values(plan, answers))
        said = said.beside(self._causes.take((), found.drift.values()))
        role = self._ledger.finish(
            ProbeKind.AGENT_LOOPS,
            replace(
                self._result(samples),
                scored=answers.now.turns,
                reference_scored=answers.reference.turns,
                loops=answers.now.loops,
                reference_loops=answers.reference.loops,
                evidence=with_said([record_of(name, finding, tokens) for name, finding in findings.items()], said),
                metric_points=rate_points(answers),
                baseline=wide_baseline_change(
                    past, found.drift.values(), answered=any(answer.completed for answer in answers.now.turns)
                )
                if self._may_be_baseline
                else None,
                fed=self._fed_of(ProbeKind.AGENT_LOOPS, findings, samples),
            ),
        )
        self._enrolled = self._enrolled or role is BaselineRole.ENROLMENT
        return [check_of(name, finding, tokens) for name, finding in findings.items()], said

    def _finish_latency(
        self, found: Speed, samples: Sequence[Sample], started: datetime
    ) -> tuple[Check, tuple[LatencyMoveValue, ...], Said]:
        span = Span(started - timedelta(days=REACH), started)
        moved = moves(found, lambda metric: self._ledger.past_points(metric, span), started)
        check = latency_check(found, moved, Reported.of(samples).total, self._planned.shares)
        evidence = latency_evidence(check, found, move_values(moved))
        said = Said(rates=found.rates).beside(self._causes.take_times(check, moved=bool(moved)))
        self._ledger.finish(
            ProbeKind.LATENCY,
            replace(
                self._result(samples),
                evidence=with_said([evidence], said),
                metric_points=latency_points(found),
            ),
        )
        return check, move_values(moved), said

    def _fed_of(
        self,
        probe: ProbeKind,
        findings: Mapping[str, Finding],
        samples: Sequence[Sample],
        cases: tuple[CaseCalls, ...] = (),
    ) -> Fed | None:
        most = moved_most({name: one for name, one in findings.items() if name.startswith(probe.value)})
        return self._fed({} if most is None else {probe.value: most}, samples, cases=cases)

    def _fed(
        self,
        found: Mapping[str, Finding],
        samples: Sequence[Sample],
        listings: tuple[Listing, ...] = (),
        evidence: tuple[Evidence, ...] = (),
        cases: tuple[CaseCalls, ...] = (),
        border: BorderInputs | None = None,
    ) -> Fed | None:
        """A confirming run was asked because of what streams and checks had found: it says nothing new to them."""
        escalates = self._ledger.escalates
        if self._ledger.confirms and not escalates:
            return None
        stack, tokens = stack_digest(self._judge.fingerprint, GRAMMAR_VERSION), Reported.of(samples).total or 0
        return Fed(stack, found, evidence, listings, cases, tokens, self._rounds_a_day, border, escalates)

    def _compared_with(self, past: Past) -> None:
        if past.baseline is not None:
            probe, since = past.baseline.probe.value, past.baseline.created_at
            self._baselines.append(BaselineValue(probe=probe, since=since, runs=len(past.baseline.runs)))

    def _result(self, samples: Sequence[Sample]) -> RunResult:
        stop = self._asked.stop
        status = RunStatus.SUCCEEDED if stop is None else RunStatus.PARTIAL
        ended = run_result(status, stop and stop.value, Reported.of(samples), self._endpoint.prices)
        return replace(ended, served_fingerprint=_served_fingerprint(samples))

    @property
    def _may_be_baseline(self) -> bool:
        return self._asked.stop is None and not self._ledger.confirms

    def _no_baseline_reason(self) -> str:
        if not self._ledger.writes:
            return "no baseline, and none is made without saving"
        if self._ledger.confirms:
            return "no baseline, and a confirming run makes none"
        return ENROLLED if self._asked.stop is None else "no baseline, and a partial run makes none"

    def _check_of(self, probe: ProbeKind, judged: Judged, samples: Sequence[Sample]) -> Check:
        finding = judged.found.logprobs if probe is ProbeKind.LOGPROBS else judged.found.accounting
        tokens = Reported.of(samples).total
        if finding.verdict is not Verdict.DRIFT:
            return check_of(probe.value, finding, tokens)
        new, baseline = judged.material.new, judged.material.baseline
        if probe is ProbeKind.ACCOUNTING:
            telling = telling_counts(self._endpoint, samples, new, baseline)
        else:
            telling = telling_logprobs(self._endpoint, samples, new, baseline, next(iter(judged.allowed), None))
        return check_of(probe.value, finding, tokens, telling)


def _served_model(samples: Sequence[Sample]) -> str | None:
    """The first name the endpoint gave its model, without what it may repeat there of keys and private prompts."""
    found = (s.completion.model for s in samples if s.completion and s.completion.model)
    return next((foreign_id(redact_known(name), _LONGEST_NAME) for name in found), None)


def _served_fingerprint(samples: Sequence[Sample]) -> str | None:
    """The first fingerprint the endpoint named for its own stack."""
    return next(
        (s.completion.system_fingerprint for s in samples if s.completion and s.completion.system_fingerprint), None
    )

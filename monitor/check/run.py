"""One check from end to end, in the caller's process: the same path for the command, the demo and a worker."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from importlib.metadata import version

from monitor import clock
from monitor.check.ask import Asked, Limits, Stop, ask, token_counts
from monitor.check.conclude import (
    check_of,
    evidence_records,
    fidelity_statement,
    latency_check,
    latency_evidence,
    latency_points,
    latency_values,
    metric_points,
    quirk_counts,
)
from monitor.check.ledger import Ledger, Past
from monitor.check.observe import observe
from monitor.check.options import CheckOptions, Progress
from monitor.check.plans import affordable_plans, cost_usd
from monitor.check.reference import OpenReference, open_reference
from monitor.check.telling import telling_counts, telling_logprobs
from monitor.config import EndpointConfig
from monitor.datadir import DataDir
from monitor.drift.assess import (
    Assessment,
    Material,
    Reference,
    assess,
    explain,
    measured_candidates,
    needs_explanation,
    without_cached,
)
from monitor.drift.observation import Observation
from monitor.drift.rule import Verdict, roll_up
from monitor.errors import StorageError
from monitor.expectation import Expectation, all_candidates, expect, messages_of, token_steps
from monitor.store import BaselineRole, Enrol, Join, RunResult, RunStatus
from monitor.verdict import ENROLLED, Check, Cost, FidelityStatement, VerdictDocument
from probes.plan import Plan, ProbeKind, Sample
from reference_engine.errors import CodedError

# Two profiles that differ by 0.03 nat are told apart by about ten prompts.
_PROMPTS_FOR_CAUSES = 12
# The file's seed makes the anchors; a check that keeps nothing has no anchors to repeat.
_SEED_BYTES = 32


def run_check(endpoint: EndpointConfig, options: CheckOptions, data: DataDir, progress: Progress) -> VerdictDocument:
    """Probe one endpoint and judge it against its reference, opened for this check.

    Raises a CodedError where no verdict can be given, KeyboardInterrupt where the user stopped it; the samples that
    came are stored by then.
    """
    endpoint.target()  # a missing key should not wait for the weights
    with open_reference(endpoint.reference) as reference:
        return check_against(reference, endpoint, options, data, progress)


def check_against(
    reference: OpenReference, endpoint: EndpointConfig, options: CheckOptions, data: DataDir, progress: Progress
) -> VerdictDocument:
    """`run_check` with a reference that is open already and stays open."""
    started = clock.now()
    target = endpoint.target()
    seed = data.seed() if options.save or data.seed_path.exists() else secrets.token_bytes(_SEED_BYTES)
    plans, _ = affordable_plans(
        options,
        seed,
        tokenizer=reference.tokenizer,
        has_reference=reference.engine is not None,
        prices=endpoint.prices,
    )
    open_ledger = Ledger.saving if options.save else Ledger.reading
    with open_ledger(data.database_path, endpoint) as ledger, _closing(ledger):
        for plan in plans:
            ledger.begin(plan, endpoint, version("endpoint-monitor"), reference.identity)
        progress.begin(_steps(plans, reference), "asking")
        limits = Limits(options.timeout, options.max_cost, endpoint.prices)
        asked = ask(target, ledger.capabilities.to_dict(), plans, limits, keep=ledger.keep, progress=progress)
        ledger.flush()
        ledger.save_capabilities(asked.capabilities)
        if asked.error is not None:
            raise asked.error
        return _Check(endpoint, options, reference, ledger, asked, progress, started).conclude(plans)


@contextlib.contextmanager
def _closing(ledger: Ledger) -> Iterator[None]:
    """Leave no run open: whatever went wrong, from the first request to the verdict, is written to it."""
    try:
        yield
    except KeyboardInterrupt:
        ledger.abandon(RunStatus.CANCELLED, Stop.INTERRUPTED.value)
        raise
    except Exception as error:
        code = error.code if isinstance(error, CodedError) else CodedError.code
        with contextlib.suppress(StorageError):  # the database itself may be what failed
            ledger.abandon(RunStatus.FAILED, code)
        raise


def _steps(plans: Sequence[Plan], reference: OpenReference) -> int:
    candidates = 0 if reference.engine is None else len(measured_candidates(reference.allowed))
    return sum(len(plan.items) for plan in plans) + candidates


class _Check:
    """The second half of a check: everything was asked, nothing is judged yet."""

    def __init__(
        self,
        endpoint: EndpointConfig,
        options: CheckOptions,
        reference: OpenReference,
        ledger: Ledger,
        asked: Asked,
        progress: Progress,
        started: datetime,
    ) -> None:
        self._endpoint = endpoint
        self._options = options
        self._reference = reference
        self._ledger = ledger
        self._asked = asked
        self._progress = progress
        self._started = started
        self._enrolled = False

    def conclude(self, plans: Sequence[Plan]) -> VerdictDocument:
        checks: list[Check] = []
        fidelity = FidelityStatement(verdict=Verdict.INAPPLICABLE, reason="log-probabilities were not probed")
        latencies = latency_values(self._asked.samples.get(ProbeKind.LATENCY, []))
        for plan in plans:
            samples = self._asked.samples.get(plan.probe, [])
            if plan.probe is ProbeKind.LATENCY:
                checks.append(self._finish_latency(samples))
            else:
                found, statement = self._judge(plan.probe, samples)
                checks += found
                fidelity = statement or fidelity
        verdicts = [check.verdict for check in checks if check.probe != ProbeKind.LATENCY.value]
        everything = self._asked.all_samples
        return VerdictDocument(
            provider=self._endpoint.provider,
            model=self._endpoint.model,
            endpoint=self._endpoint.base_url,
            served_model=next((s.completion.model for s in everything if s.completion and s.completion.model), None),
            verdict=roll_up([*verdicts, fidelity.verdict]),
            enrolled=self._enrolled,
            partial=self._asked.stop is not None,
            saved=self._ledger.writes,
            checks=tuple(checks),
            latency=latencies,
            fidelity=fidelity,
            cost=self._cost(everything),
            quirks=quirk_counts(everything),
            run_ids=self._ledger.run_ids,
            started_at=self._started,
            finished_at=clock.now(),
        )

    def _cost(self, samples: Sequence[Sample]) -> Cost:
        tokens_in, tokens_out = token_counts(samples)
        return Cost(
            requests=sum(len(sample.attempts) for sample in samples),
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            usd=cost_usd(tokens_in, tokens_out, self._endpoint.prices),
        )

    def _judge(self, probe: ProbeKind, samples: Sequence[Sample]) -> tuple[list[Check], FidelityStatement | None]:
        past = self._ledger.past(probe)
        judged = [kind for kind in dict.fromkeys((probe, ProbeKind.ACCOUNTING)) if kind in self._options.probes]
        candidates = measured_candidates(self._reference.allowed)
        expected = self._expect(probe, samples, candidates, {})
        material = self._material(probe, samples, past, expected, candidates, judged)
        found = assess(material, no_baseline_reason=self._no_baseline_reason())
        if self._reference.engine is not None and needs_explanation(found):
            candidates = all_candidates(self._reference.engine)
            expected |= self._expect(probe, _first_prompts(samples), candidates, expected)
            material = self._material(probe, samples, past, expected, candidates, judged)
            found = explain(material, found)
        self._record(probe, samples, material.new, past, found, judged)
        checks = [self._check_of(kind, found, samples, material) for kind in judged]
        if probe is not ProbeKind.LOGPROBS:
            return checks, None
        return checks, fidelity_statement(found.fidelity, self._reference.allowed)

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

    def _same_reference(self, past: Past) -> list[Observation]:
        identity = self._reference.identity
        return [
            observation
            for run in past.runs
            if identity is not None and run.reference_fingerprint == identity.fingerprint
            for observation in without_cached(run.observations)
        ]

    def _material(
        self,
        probe: ProbeKind,
        samples: Sequence[Sample],
        past: Past,
        expected: Mapping[str, Expectation],
        candidates: Sequence[str],
        judged: Sequence[ProbeKind],
    ) -> Material:
        engine = self._reference.engine
        reference = None
        if engine is not None and expected:
            steps = token_steps(engine, [messages_of(sample.item.request) for sample in samples])
            reference = Reference(self._reference.allowed, tuple(candidates), steps)
        return Material(
            new=observe(probe, samples, expected, self._reference.tokenizer),
            baseline=[observation for run in past.runs for observation in without_cached(run.observations)],
            same_reference=self._same_reference(past),
            reference=reference,
            judged=frozenset(kind.value for kind in judged),
        )

    def _no_baseline_reason(self) -> str:
        if not self._ledger.writes:
            return "no baseline, and none is made without saving"
        return ENROLLED if self._asked.stop is None else "no baseline, and a partial run makes none"

    def _check_of(self, probe: ProbeKind, found: Assessment, samples: Sequence[Sample], material: Material) -> Check:
        finding = found.logprobs if probe is ProbeKind.LOGPROBS else found.accounting
        tokens = sum(token_counts(samples))
        if finding.verdict is not Verdict.DRIFT:
            return check_of(probe, finding, tokens)
        if probe is ProbeKind.ACCOUNTING:
            telling = telling_counts(self._endpoint, samples, material.new, material.baseline)
        else:
            base = next(iter(self._reference.allowed), None)
            telling = telling_logprobs(self._endpoint, samples, material.new, material.baseline, base)
        return check_of(probe, finding, tokens, telling)

    def _record(
        self,
        probe: ProbeKind,
        samples: Sequence[Sample],
        new: Sequence[Observation],
        past: Past,
        found: Assessment,
        judged: Sequence[ProbeKind],
    ) -> None:
        tokens_in, tokens_out = token_counts(samples)
        role = self._ledger.finish(
            probe,
            RunResult(
                status=self._status,
                error_code=None if self._asked.stop is None else self._asked.stop.value,
                tokens_in=tokens_in,
                tokens_out=tokens_out,
                cost_microusd=self._microusd(tokens_in, tokens_out),
                served_fingerprint=_served_fingerprint(samples),
                observations=new,
                evidence=evidence_records(found, judged, tokens_in + tokens_out),
                metric_points=metric_points(found, judged),
                baseline=self._baseline_change(past, new, found, judged),
            ),
        )
        self._enrolled = self._enrolled or role is BaselineRole.ENROLMENT

    @property
    def _status(self) -> RunStatus:
        return RunStatus.SUCCEEDED if self._asked.stop is None else RunStatus.PARTIAL

    def _microusd(self, tokens_in: int, tokens_out: int) -> int | None:
        usd = cost_usd(tokens_in, tokens_out, self._endpoint.prices)
        return None if usd is None else round(usd * 1e6)

    def _baseline_change(
        self, past: Past, new: Sequence[Observation], found: Assessment, judged: Sequence[ProbeKind]
    ) -> Enrol | Join | None:
        """The first whole run with anything to compare enrols; one found unchanged joins while the baseline is open."""
        findings = {ProbeKind.LOGPROBS: found.logprobs, ProbeKind.ACCOUNTING: found.accounting}
        useless = all(findings[probe].verdict is Verdict.INAPPLICABLE for probe in judged)
        if self._asked.stop is not None or not new or useless:
            return None
        if past.baseline is None:
            return Enrol()
        moved = [findings[probe].verdict in (Verdict.DRIFT, Verdict.SUSPECT) for probe in judged]
        unchanged = findings[judged[0]].verdict is Verdict.OK and not any(moved)
        return Join(past.baseline.id) if unchanged and past.open_for_more else None

    def _finish_latency(self, samples: Sequence[Sample]) -> Check:
        values = latency_values(samples)
        tokens_in, tokens_out = token_counts(samples)
        check = latency_check(samples, values, tokens_in + tokens_out)
        self._ledger.finish(
            ProbeKind.LATENCY,
            RunResult(
                status=self._status,
                error_code=None if self._asked.stop is None else self._asked.stop.value,
                tokens_in=tokens_in,
                tokens_out=tokens_out,
                cost_microusd=self._microusd(tokens_in, tokens_out),
                served_fingerprint=_served_fingerprint(samples),
                evidence=[latency_evidence(check, values)],
                metric_points=latency_points(values),
            ),
        )
        return check


def _first_prompts(samples: Sequence[Sample]) -> list[Sample]:
    """The samples of the first prompts asked: enough to tell causes apart, at a fraction of the reference's time."""
    keys = list(dict.fromkeys(sample.item.key for sample in samples if sample.completion is not None))
    chosen = set(keys[:_PROMPTS_FOR_CAUSES])
    return [sample for sample in samples if sample.item.key in chosen]


def _served_fingerprint(samples: Sequence[Sample]) -> str | None:
    """The first fingerprint the endpoint named for its own stack."""
    return next(
        (s.completion.system_fingerprint for s in samples if s.completion and s.completion.system_fingerprint), None
    )

"""One run's observations and its baseline's in, one finding a check out: the run-level judgement as a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from monitor.drift.accounting import CountTest, count_test
from monitor.drift.cause import Cause
from monitor.drift.causes import SYSTEM_PROMPT, TokenSteps, fit, rank
from monitor.drift.detectable import detectable_shift
from monitor.drift.endpoint_reference import endpoint_fidelity, without_reference, would_see
from monitor.drift.fidelity import candidate_distance, fidelity_test
from monitor.drift.findings import Assessment, Fidelity, Finding
from monitor.drift.interval import Interval
from monitor.drift.material import TARGET_PROFILE, Material, measured_candidates, without_cached
from monitor.drift.multiplicity import shared
from monitor.drift.observation import Observation
from monitor.drift.rule import DRIFT_P, LAWFUL_SHIFT, Verdict, holm, judge
from monitor.drift.shift import Prepared, ShiftTest, prepare, run_noise, shift_test

# What int8 weights do to a small model's first-token log-probabilities (DETECTION.md, Table D), for endpoints whose
# own int8 step cannot be computed.
INT8_SHIFT = 0.071
TOKENIZER = "tokenizer"
_FOUND = (Verdict.DRIFT, Verdict.SUSPECT)
_UNANSWERED = "no request was answered"


def assess(material: Material, *, no_baseline_reason: str, shares: int = 1, seed: int = 0) -> Assessment:
    """Test, adjust the p-values over both checks (Holm) and for the `shares` of the whole one, and judge each. Causes
    are left to `explain`."""
    new = without_cached(material.new)
    material = replace(material, new=new)
    tested = _tested(material)
    prepared = _prepared(tested)
    moved = shift_test(prepared, len(_with_tokens(new)), seed=seed) if prepared else None
    counts = count_test(tested.baseline, tested.new, seed=seed)
    p_values: dict[str, float] = {}
    if moved is not None:
        p_values["logprobs"] = moved.p
    if counts is not None and counts.p is not None:
        p_values["accounting"] = counts.p
    adjusted = shared(holm({name: p for name, p in p_values.items() if name in material.judged}), shares)
    level = DRIFT_P / (max(1, len(adjusted)) * shares)
    return Assessment(
        logprobs=_held(_logprobs(tested, prepared, moved, adjusted, level, no_baseline_reason, seed), material),
        accounting=_held(_accounting(tested, counts, adjusted, no_baseline_reason), material),
        fidelity=_ranked(_fidelity(material, seed), material, counts),
        counts=counts,
    )


def needs_explanation(assessment: Assessment) -> bool:
    """Whether something was found whose cause is worth scoring every candidate for."""
    return assessment.logprobs.verdict in _FOUND or assessment.fidelity.finding.verdict is Verdict.SUSPECT


def explain(material: Material, assessment: Assessment) -> Assessment:
    """Rank the causes of what was found among all candidates of `material.reference`."""
    if material.reference is None:
        return assessment
    material = replace(material, new=without_cached(material.new))
    logprobs = assessment.logprobs
    if logprobs.verdict in _FOUND:
        logprobs = replace(logprobs, causes=_drift_causes(material, assessment.counts))
    fidelity = _ranked(assessment.fidelity, material, assessment.counts)
    return replace(assessment, logprobs=logprobs, fidelity=fidelity)


def _tested(material: Material) -> Material:
    """What drift is looked for in: where the reference moved, the endpoint's answers alone."""
    if material.reference is None or material.reference.held is None:
        return material
    new, baseline = ([without_reference(one) for one in side] for side in (material.new, material.baseline))
    return replace(material, new=new, baseline=baseline, same_reference=(), reference=None)


def _held(finding: Finding, material: Material) -> Finding:
    held = None if material.reference is None else material.reference.held
    if held is None:
        return finding
    return replace(finding, reason="; ".join(filter(None, (finding.reason, held))))


def _with_tokens(observations: Sequence[Observation]) -> list[Observation]:
    return [o for o in observations if o.tokens]


def _prepared(material: Material) -> Prepared | None:
    if not material.enrolled or not _with_tokens(material.new):
        return None
    if material.reference is None:
        return prepare(material.baseline, material.new, None, ())
    known = {id(o) for o in material.same_reference}
    usable = [o for o in material.baseline if o.anchor or id(o) in known]
    others = [name for name in material.reference.candidates if name != material.reference.base]
    prepared = prepare(usable, material.new, material.reference.base, others)
    if prepared is None or material.reference.endpoint is None or would_see(prepared.singles, INT8_SHIFT):
        return prepared
    # Too far from the reference, or too unevenly, they would only hide what the anchors see.
    return replace(prepared, singles=()) if prepared.anchors else None


def _logprobs(
    material: Material,
    prepared: Prepared | None,
    moved: ShiftTest | None,
    adjusted: Mapping[str, float],
    level: float,
    no_baseline_reason: str,
    seed: int,
) -> Finding:
    n = len(_with_tokens(material.new))
    if not material.new:
        return Finding(Verdict.INCONCLUSIVE, _UNANSWERED)
    if not n:
        return Finding(Verdict.INAPPLICABLE, "the endpoint gives no usable log-probabilities")
    noise = run_noise(material.new)
    if not material.enrolled:
        return Finding(Verdict.INCONCLUSIVE, no_baseline_reason, baseline=_known(noise), n=n)
    if prepared is None or moved is None:
        return Finding(Verdict.INCONCLUSIVE, "no prompt in common with the baseline", baseline=_known(noise), n=n)
    p = adjusted.get("logprobs", moved.p)
    target, target_index = _target(material)
    detectable = detectable_shift(prepared, level, target_index, seed=seed)
    verdict = judge(
        p,
        beyond_lawful=not moved.shift < LAWFUL_SHIFT,
        detectable=detectable,
        target=target,
    )
    return Finding(
        verdict,
        reason="" if verdict is not Verdict.INCONCLUSIVE else "too few answers to see what int8 would do",
        value=_known(moved.shift),
        interval=moved.interval,
        baseline=_known(moved.noise),
        detectable=detectable,
        target=target,
        p=moved.p,
        adjusted_p=p,
        n=n,
    )


def _known(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _target(material: Material) -> tuple[float, int | None]:
    """What int8 would make on this run's prompts, and its index among the steps; Table D's figure without one."""
    reference = material.reference
    if reference is None or TARGET_PROFILE not in reference.candidates or reference.base == TARGET_PROFILE:
        return INT8_SHIFT, None
    others = [name for name in reference.candidates if name != reference.base]
    return candidate_distance(material.new, TARGET_PROFILE, reference.base), others.index(TARGET_PROFILE)


def _drift_causes(material: Material, counts: CountTest | None) -> tuple[Cause, ...]:
    reference = material.reference
    if reference is None:
        return ()
    before = fit(material.same_reference, reference.candidates) or fit(
        material.same_reference, measured_candidates(reference.allowed)
    )
    held = min(before, key=lambda name: before[name]) if before else reference.base
    steps = TokenSteps(
        {name: step - reference.token_steps.get(held, 0) for name, step in reference.token_steps.items()},
        None if counts is None else counts.moved,
    )
    return rank(material.new, reference.candidates, held=held, settled=before.get(held, 0.0), steps=steps)


def _accounting(
    material: Material, counts: CountTest | None, adjusted: Mapping[str, float], no_baseline_reason: str
) -> Finding:
    if not material.new:
        return Finding(Verdict.INCONCLUSIVE, _UNANSWERED, unit="token")
    if counts is None:
        return Finding(Verdict.INAPPLICABLE, "the endpoint reports no prompt_tokens", unit="token")
    known = counts.offset is not None
    finding = Finding(
        Verdict.INCONCLUSIVE,
        value=float(counts.offset) if counts.offset is not None else None,
        unit="token",
        interval=Interval(float(counts.low), float(counts.high), 1.0)
        if counts.low is not None and counts.high is not None
        else None,
        baseline=None if counts.moved is None else float((counts.offset or 0) - counts.moved),
        detectable=1.0,
        target=1.0,
        p=counts.p,
        adjusted_p=adjusted.get("accounting", counts.p),
        n=counts.n,
    )
    if counts.p is not None:
        p = adjusted.get("accounting", counts.p)
        verdict = judge(p, beyond_lawful=counts.moved != 0, detectable=1.0, target=1.0)
        if verdict in _FOUND:
            return replace(finding, verdict=verdict, causes=_count_causes(counts))
    elif not known:
        return replace(finding, reason=no_baseline_reason)
    if known and (counts.low, counts.high) != (0, 0):
        return replace(
            finding,
            verdict=Verdict.SUSPECT,
            reason=f"counts differ from {_counted_by(material)}",
            causes=_count_causes(counts),
        )
    return replace(finding, verdict=Verdict.OK)


def _counted_by(material: Material) -> str:
    endpoint = None if material.reference is None else material.reference.endpoint
    return "the reference's tokenizer and template" if endpoint is None else f"those of {endpoint}"


def _count_causes(counts: CountTest) -> tuple[Cause, ...]:
    """A changed template adds the same number to every prompt; a changed tokenizer does so only by chance, which
    halves with every prompt."""
    doubt = 0.5 ** min(counts.n, 20)
    likely, other = (
        (SYSTEM_PROMPT, TOKENIZER) if counts.constant or counts.offset is None else (TOKENIZER, SYSTEM_PROMPT)
    )
    return (Cause(likely, 1.0 - doubt), Cause(other, doubt))


def _fidelity(material: Material, seed: int) -> Fidelity:
    reference = material.reference
    if not material.new:
        return Fidelity(Finding(Verdict.INCONCLUSIVE, _UNANSWERED))
    if reference is None:
        return Fidelity(Finding(Verdict.INAPPLICABLE, "the model has no reference weights"))
    if reference.endpoint is not None:
        return endpoint_fidelity(material.new, reference.endpoint, reference.held, seed=seed)
    test = fidelity_test(material.new, reference.allowed, run_noise(material.new), seed=seed)
    if test is None:
        return Fidelity(Finding(Verdict.INAPPLICABLE, "the endpoint gives no usable log-probabilities"))
    steps = [candidate_distance(material.new, TARGET_PROFILE, a) for a in reference.allowed if a != TARGET_PROFILE]
    target = min(steps, default=INT8_SHIFT)
    verdict = Verdict.OK if test.detectable <= target else Verdict.INCONCLUSIVE
    if test.outside:
        verdict = Verdict.SUSPECT
    finding = Finding(
        verdict,
        reason="too few answers to see what int8 would do" if verdict is Verdict.INCONCLUSIVE else "",
        value=test.nearest.value,
        interval=test.nearest.interval,
        detectable=test.detectable,
        target=target,
        n=test.n,
    )
    return Fidelity(finding, allowed=test.nearest.candidate, lawful=test.nearest.lawful)


def _ranked(fidelity: Fidelity, material: Material, counts: CountTest | None) -> Fidelity:
    """The same finding with its candidates ranked; the counts speak where they differ by a constant."""
    reference = material.reference
    if reference is None or fidelity.allowed is None or fidelity.lawful is None:
        return fidelity
    offset = counts.offset if counts is not None and counts.constant else None
    ranking = rank(
        material.new,
        reference.candidates,
        held=fidelity.allowed,
        settled=float(np.sqrt(np.pi / 2.0)) * fidelity.lawful,
        steps=TokenSteps(reference.token_steps, offset),
    )
    return replace(
        fidelity, finding=replace(fidelity.finding, causes=ranking), nearest=ranking[0].name if ranking else None
    )

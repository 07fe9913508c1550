"""A remote reference's answers as what an endpoint's are judged by: expectations, counts, and whether it moved."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from monitor.check.ledger import Past
from monitor.check.observe import observe
from monitor.check.remote_reference import is_endpoint
from monitor.check.remote_side import RemoteSide
from monitor.drift.cause import ENDPOINT
from monitor.drift.endpoint_reference import Served, beside, moved, own_answers, renamed, without_reference
from monitor.drift.material import Material, Reference, without_cached
from monitor.drift.observation import Observation
from monitor.redaction import redact_known
from monitor.store import ReferenceIdentity
from monitor.store.text import foreign_id
from monitor.usage import Reported
from monitor.verdict import Cost, ReferenceStatement
from probes.plan import ProbeKind, Sample

_LONGEST_NAME = 256


class RemoteAnswers:
    """Of one check. `moved` says in words how the reference moved since the baseline, once log-probabilities or counts
    were judged; None where it did not, or nobody could tell."""

    def __init__(self, side: RemoteSide) -> None:
        self._side = side
        self.moved: str | None = None
        # Of the probe that is asked alike in every check: another one may be served by another stack.
        self.served = _served(side.answers(ProbeKind.LOGPROBS))

    @property
    def no_answer(self) -> str:
        """Why there is none, where there is none."""
        return f"the reference {self._side.reference.name}: {self._side.why_not or 'it gave no answer'}"

    def answers(self, probe: ProbeKind) -> Sequence[Sample]:
        return self._side.answers(probe)

    def statement(self) -> ReferenceStatement:
        samples = self._side.samples
        served = _served(samples)
        used = Reported.of(samples)
        return ReferenceStatement(
            endpoint=self._side.reference.name,
            reason="; ".join(filter(None, (self._side.why_not, self.moved))),
            served_models=tuple(sorted(served.models)),
            served_fingerprints=tuple(sorted(served.fingerprints)),
            cost=Cost(
                requests=self._side.requests,
                tokens_in=used.prompt,
                tokens_out=used.completion,
                without_usage=used.untold,
                usd=used.usd(self._side.reference.config.prices),
            ),
        )

    def material(
        self,
        probe: ProbeKind,
        samples: Sequence[Sample],
        past: Past,
        checks: Sequence[ProbeKind],
        identity: ReferenceIdentity | None,
    ) -> Material:
        """Each answer beside the reference's to the same repeat of its prompt. What runs of the baseline were held
        against before is not mixed with this reference; where that moved, it says so."""
        theirs = observe(probe, self._side.answers(probe), {}, None)
        new = beside(observe(probe, samples, {}, None), without_cached(theirs))
        fingerprint = None if identity is None else identity.fingerprint
        baseline: list[Observation] = []
        same: list[Observation] = []
        for run in past.runs:
            kept = without_cached(run.observations)
            if run.reference_fingerprint == fingerprint:
                same += kept
                baseline += kept
            else:
                baseline += map(without_reference, kept)
        self.moved = self.moved or self._moved(new, same, past, fingerprint)
        name = self._side.reference.name
        held = None if self.moved is None else f"the reference {name} moved: {self.moved}"
        return Material(
            new=new,
            baseline=baseline,
            same_reference=same,
            reference=Reference((ENDPOINT,), (ENDPOINT,), {}, endpoint=name, held=held),
            judged=frozenset(kind.value for kind in checks),
        )

    def _moved(
        self, new: Sequence[Observation], same: Sequence[Observation], past: Past, fingerprint: str | None
    ) -> str | None:
        seen = [past.served[run.run_id] for run in past.runs if run.reference_fingerprint == fingerprint]
        said = (renamed(Served.of(seen), self.served), moved(own_answers(same), own_answers(new)))
        return " and ".join(filter(None, said)) or None


def without_endpoint_reference(fingerprint: str | None, observations: Sequence[Observation]) -> list[Observation]:
    """Of a run that was held against the reference of this fingerprint: its own answers alone where that was another
    endpoint, whose counts are not what a tokenizer counts."""
    return list(map(without_reference, observations)) if is_endpoint(fingerprint) else list(observations)


def _served(samples: Iterable[Sample]) -> Served:
    answers = [one.completion for one in samples if one.completion is not None]
    return Served(_kept(one.model for one in answers), _kept(one.system_fingerprint for one in answers))


def _kept(names: Iterable[str | None]) -> frozenset[str]:
    """Without what it may repeat there of keys and private prompts."""
    cleaned = (foreign_id(redact_known(name), _LONGEST_NAME) for name in names if name)
    return frozenset(name for name in cleaned if name)

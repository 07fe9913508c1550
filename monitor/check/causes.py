"""What changed: as the runs of a check are judged, what each saw of a change is gathered, and causes are ranked by all
of it once anything is found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from monitor.check.judge import Judged
from monitor.drift.attribution import Attributed, attribute
from monitor.drift.discriminating import Kind
from monitor.drift.explained import Explained, explained, suspects_of
from monitor.drift.features import Feature
from monitor.drift.findings import Finding
from monitor.drift.multiplicity import Family
from monitor.drift.rule import Verdict
from monitor.drift.run_sightings import of_counts, of_move, of_repeats, of_stack, of_test
from monitor.drift.sightings import Sighting
from monitor.verdict import CauseStatement, Check, ExplainedValue, Said, SightingValue
from probes.plan import ProbeKind

# Causes that are told, and the least belief in one.
_MOST, _LEAST_WEIGHT = 3, 0.05
_FOUND = (Verdict.DRIFT, Verdict.SUSPECT)
# What the families of tool calls tell of.
_FAMILIES: Mapping[str, Feature] = {
    Family.TRIGGER: Feature.TRIGGERS,
    Family.CONFORMANCE: Feature.TOOL_FORM,
    Family.TWINS: Feature.STREAM_TWINS,
}


class CheckCauses:
    """Of one check; of a feature that two probes see the first sighting counts. moved: whether earlier checks have
    found a change that stands, as streams do."""

    def __init__(self, *, moved: bool = False) -> None:
        self._seen: dict[Feature, Sighting] = {}
        self._explained = Explained()
        self._found = moved

    def take(
        self, seen: Iterable[Sighting | None], found: Iterable[Finding], explained: Explained | None = None
    ) -> Said:
        """What a run saw, what it was found to be against the endpoint's own past, and what the reference says of it;
        as it is said of the run, with the causes so far."""
        sightings = [one for one in seen if one is not None and one.says]
        self._add(sightings, explained or Explained(), found=any(one.verdict in _FOUND for one in found))
        causes, ruler = self.told()
        return Said(
            sightings=tuple(SightingValue(feature=one.feature.value, logs=one.logs) for one in sightings),
            explained=None if explained is None else _value_of(explained),
            causes=causes,
            ruler=ruler,
        )

    def take_judged(self, judged: Judged) -> Said:
        """Of a run of log-probabilities, or of accounting alone. Without a past nothing of it is a change."""
        material, found = judged.material, judged.found
        compared = [one for one in (found.logprobs, found.accounting) if one.p is not None]
        seen = [of_counts(found.counts), of_repeats(material.new, material.baseline)]
        if found.logprobs.p is None:
            return self.take(seen, compared)
        seen.append(of_move(found.logprobs))
        return self.take(seen, compared, explained(material, found.logprobs))

    def take_tools(self, findings: Mapping[str, Finding]) -> Said:
        own = {name.partition(".")[2]: one for name, one in findings.items() if name.startswith(ProbeKind.TOOL_CALLS)}
        seen = [of_test(feature, own.get(family)) for family, feature in _FAMILIES.items()]
        return self.take(seen, own.values())

    def take_protocol(self, findings: Mapping[str, Finding]) -> Said:
        own = {name: one for name, one in findings.items() if name.startswith(ProbeKind.PROTOCOL)}
        return self.take([of_stack(own.get("protocol.stack"))], own.values())

    def take_times(self, check: Check, *, moved: bool) -> Said:
        """That no time moved is not seen: few streams show little."""
        seen = [Sighting.certain(Feature.TIMING, "step", 0.8)] if moved else []
        return self.take(seen, [Finding(check.verdict)] if moved else [])

    def told(self) -> tuple[tuple[CauseStatement, ...], str | None]:
        """The causes so far, and how far log-probabilities moved, in words; nothing while nothing was found."""
        return self.statements(), self._explained.ruler if self._found else None

    def recall(self, said: Said) -> None:
        """The same of a run that an earlier attempt has judged."""
        seen = [Sighting(Feature(one.feature), one.logs) for one in said.sightings]
        self._add(seen, _explained_of(said.explained), found=bool(said.causes))

    def statements(self) -> tuple[CauseStatement, ...]:
        """The likeliest first; none while nothing was found, and where what is on no list is the likeliest."""
        known = self._explained
        if not self._found or not (self._seen or known.likelihoods or known.sizes):
            return ()
        found = attribute(
            list(self._seen.values()),
            suspects_of({*known.likelihoods, *known.sizes}),
            likelihoods=known.likelihoods,
            sizes=known.sizes,
            divergences=known.divergences,
        )
        if found.best.kind is Kind.NONE:
            return ()
        told = [one for one in found.ranked if one.cause.weight >= _LEAST_WEIGHT]
        return tuple(map(_statement, told[:_MOST]))

    def _add(self, seen: Iterable[Sighting], known: Explained, *, found: bool) -> None:
        for one in seen:
            self._seen.setdefault(one.feature, one)
        if known != Explained():
            self._explained = known
        self._found = self._found or found


def _statement(one: Attributed) -> CauseStatement:
    return CauseStatement(
        name=one.cause.name,
        kind=one.kind.value,
        weight=one.cause.weight,
        evidence=one.evidence,
        against=one.against,
        apart=None if one.apart is None or one.apart.tokens is None else one.apart.words,
    )


def _value_of(known: Explained) -> ExplainedValue | None:
    if known == Explained():
        return None
    return ExplainedValue(
        likelihoods=dict(known.likelihoods),
        sizes=dict(known.sizes),
        divergences=tuple((first, second, nats) for (first, second), nats in sorted(known.divergences.items())),
        ruler=known.ruler,
    )


def _explained_of(value: ExplainedValue | None) -> Explained:
    if value is None:
        return Explained()
    apart = {(first, second): nats for first, second, nats in value.divergences}
    return Explained(value.likelihoods, value.sizes, apart, value.ruler)

"""Asks a scripted endpoint over HTTP through the real client, and gathers every check that its answer turns red."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from probes.completion import Timings
from probes.plan import Item, Outcome, Plan, ProbeKind, Sample
from probes.quirks import Disposition, Quirk
from probes.tools.attribution import Layer
from probes.tools.case import Case
from probes.tools.ladder import Rung
from probes.tools.score import score
from probes.tools.scored import Exclusion, Fault
from tests.endpoints.agent import Agent
from tests.endpoints.clock import TickingClock
from tests.endpoints.server import Handler, ScriptedServer
from tests.endpoints.wire import Wire
from tests.mutation.scenes import Scene
from tests.probes.sending import send, target


@dataclass(frozen=True)
class Red:
    """All that is red of one answer; `Red()` is all green. rungs: where its calls fail as they came."""

    quirks: frozenset[Quirk] = frozenset()
    faults: frozenset[Fault] = frozenset()
    rungs: frozenset[Rung] = frozenset()
    excluded: Exclusion | None = None
    outcome: Outcome = Outcome.OK
    layer: Layer | None = None

    @property
    def mended(self) -> bool:
        """Whether the answer is read as if it had come in good form."""
        worst = Disposition.worst(quirk.disposition for quirk in self.quirks)
        failed = self.faults or self.excluded or self.outcome is not Outcome.OK
        return not failed and worst in (Disposition.ACCEPT, Disposition.NORMALISE)

    @classmethod
    def of(cls, *checks: StrEnum) -> Red:
        """The checks by their kinds."""
        return cls(
            frozenset(one for one in checks if isinstance(one, Quirk)),
            frozenset(one for one in checks if isinstance(one, Fault)),
            frozenset(one for one in checks if isinstance(one, Rung)),
            next((one for one in checks if isinstance(one, Exclusion)), None),
            next((one for one in checks if isinstance(one, Outcome)), Outcome.OK),
            next((one for one in checks if isinstance(one, Layer)), None),
        )


def ask(scene: Scene, wire: Wire, *, stream: bool) -> Sample:
    """The sample of one item; where the client gave up at it, all the same."""
    sample, _ = exchanged(scene, Agent(lambda *_: scene.answer, wire), stream=stream)
    return sample


def exchanged(scene: Scene, endpoint: Handler, *, stream: bool) -> tuple[Sample, list[float]]:
    """The sample, and the waits of the client between its tries."""
    clock = TickingClock()
    with ScriptedServer(endpoint) as server:
        made = Plan(ProbeKind.TOOL_CALLS, (item(scene, stream=stream),), "0" * 64, "1")
        (sample,) = send(target(server.base_url), made, clock=clock).samples
    return sample, clock.slept


def item(scene: Scene, *, stream: bool) -> Item:
    form = {"stream": True, "stream_options": {"include_usage": True}} if stream else {"stream": False}
    return Item(scene.name, 0, {**scene.case.request, **form}, verbatim=scene.verbatim)


def red_of(scene: Scene, sample: Sample) -> Red:
    return red_of_case(scene.case, sample)


def red_of_case(case: Case, sample: Sample) -> Red:
    scored = score(case, sample)
    refused_rightly = case.oracle.rejected and sample.outcome is Outcome.REFUSED
    return Red(
        scored.defects,
        scored.faults,
        frozenset(call.strict for call in scored.calls) - {Rung.OK},
        scored.excluded,
        Outcome.OK if refused_rightly else sample.outcome,
        scored.layer,
    )


def meaning(sample: Sample) -> object:
    """What a caller gets of an answer."""
    answer = sample.completion
    assert answer is not None
    calls = [(call.name, call.arguments) for call in answer.tool_calls]
    return answer.content, answer.reasoning, calls, answer.finish_reason


def timeless(sample: Sample) -> object:
    """What was read, but for when it came and how many comments were between."""
    assert sample.completion is not None
    return replace(sample.completion, timings=Timings(), comments=0)

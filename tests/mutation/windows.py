"""Runs of tool-call cases by an endpoint that does not change, in which everything is left to chance that may be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from monitor.drift.stages import Stage, confirm, screen
from monitor.drift.tool_assess import ToolAssessment, assess_tools
from probes.quirks import Quirk
from probes.tools.case import Category, Trigger
from probes.tools.ladder import Rung
from probes.tools.scored import Availability, Scored, ScoredCall
from tests.endpoints.shifts import BETA

_FINE = Availability(first_ok=True, eventually_ok=True, shed=False)
_LATE = Availability(first_ok=False, eventually_ok=True, shed=True)
_ARGUMENTS = np.array(["a", "b", "c", "d", "e"])
_RUNGS = (Rung.OK, Rung.VALUE_MISMATCH, Rung.SCHEMA_MISMATCH)


@dataclass(frozen=True)
class Endpoint:
    """What each of its cases is likely to do: `calls` a tool, with each of five `arguments`."""

    calls: np.ndarray
    arguments: np.ndarray

    @classmethod
    def drawn(cls, rng: np.random.Generator, cases: int) -> Endpoint:
        """Half of the cases leave calling to chance, and of the others half want a call and half none."""
        kinds = np.arange(cases) % 4
        chances = np.select([kinds == 0, kinds == 1], [0.995, 0.005], rng.beta(*BETA, cases))
        return cls(chances, rng.dirichlet(np.full(len(_ARGUMENTS), 0.5), cases))

    def run(self, rng: np.random.Generator, reps: int) -> list[Scored]:
        """Each case asked as often as that, and every fourth one both streamed and not."""
        return [
            self._answer(rng, case, rep, stream)
            for case in range(len(self.calls))
            for stream in ((False, True) if case % 8 < 2 else (case % 2 == 0,))
            for rep in range(reps)
        ]

    def _answer(self, rng: np.random.Generator, case: int, rep: int, stream: bool) -> Scored:
        called = bool(rng.random() < self.calls[case])
        right = rng.choice(len(_RUNGS), p=(0.94, 0.04, 0.02))
        call = ScoredCall(
            "book",
            _RUNGS[right],
            _RUNGS[right],
            expected=0,
            judged=True,
            arguments_sha256=str(rng.choice(_ARGUMENTS, p=self.arguments[case])),
        )
        return Scored(
            case_key=f"{case:03}",
            category=(Category.T1, Category.T2, Category.T3, Category.T3)[case % 4],
            family="berths",
            trigger=Trigger.CALIBRATED,
            anchor=False,
            rep=rep,
            stream=stream,
            availability=_LATE if rng.random() < 0.01 else _FINE,
            completed=True,
            defects=frozenset({Quirk.TC_INDEX_MISSING} if rng.random() < 0.01 else ()),
            called=called,
            calls=(call,) if called else (),
            right=not called or right == 0,
        )


def window(endpoint: Endpoint, rng: np.random.Generator, reps: int) -> ToolAssessment:
    """One run of it against another one of its own and a reference that is the same."""
    now, past, reference = (endpoint.run(rng, reps) for _ in range(3))
    return assess_tools(now, past=past, reference=reference, no_past="", no_reference="")


def p_values(found: ToolAssessment) -> dict[str, float]:
    """The adjusted p of all that was tested."""
    sides = {"drift": found.drift, "fidelity": found.fidelity}
    return {
        f"{side}.{family}": finding.adjusted_p
        for side, findings in sides.items()
        for family, finding in findings.items()
        if finding.adjusted_p is not None
    }


def screens(windows: int, rng: np.random.Generator, *, cases: int, reps: int) -> tuple[int, int]:
    """In how many windows anything at all is suspected, and in how many of these fresh answers confirm it."""
    hits = confirmed = 0
    for _ in range(windows):
        endpoint = Endpoint.drawn(rng, cases)
        suspected = {name for name, p in p_values(window(endpoint, rng, reps)).items() if screen(p) is Stage.HIT}
        if suspected:
            again = p_values(window(endpoint, rng, 2 * reps))
            hits += 1
            confirmed += any(confirm(again[name]) is Stage.CONFIRMED for name in suspected)
    return hits, confirmed

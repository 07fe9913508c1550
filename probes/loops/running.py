"""One free loop on its way, turn by turn: what it asks next, and what it comes to. Pure: requests out, samples in."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from probes.completion import Completion, ToolCall
from probes.loops.defects import ENDING, LoopDefect, defects_of
from probes.loops.errors import Errors
from probes.loops.exercise import Place, play
from probes.loops.fault import FaultKind
from probes.loops.history import canonical_ids, results, said_back
from probes.loops.loop import Arm, Loop, Settings
from probes.loops.result import LoopResult, Stop
from probes.loops.world import Call
from probes.plan import Item, Sample
from probes.quirks import Quirk
from probes.tools.case import Oracle, Trigger
from probes.tools.scored import Exclusion
from probes.tools.standing import exclusion_of, whole_answer
from probes.wire.json_value import equal_json
from probes.wire.message import without_tags

SAME_CALLS_ARE_STUCK = 3
# Far more than any turn of an exercise calls for.
MOST_CALLS_IN_A_TURN = 32

_ANY_ANSWER = Oracle(Trigger.FREE)


class RunningLoop:
    """Ask `item` and give `take` the sample, until `stop` is set; then read `result`."""

    def __init__(self, loop: Loop, settings: Settings) -> None:
        self.stop: Stop | None = None
        self._loop = loop
        self._reasoning = settings.reasoning
        self._turn = 0
        self._request = loop.first_request(settings)
        self._place = Place(loop.exercise.task.start)
        self._answer = ""
        self._last_calls: list[Counter[str]] = []
        self._ids_seen: set[str] = set()
        self._steps = self._called = 0
        self._errors = Errors()
        self._obeyed = False
        self._defects: dict[str, None] = {}
        self._excluded: Exclusion | None = None

    @property
    def item(self) -> Item:
        """The next request."""
        return self._loop.turn(self._turn, self._request)

    def take(self, sample: Sample) -> None:
        answer = whole_answer(sample)
        self.stop = self._stop_at(sample) if answer is None else self._hear(sample, answer)
        if self.stop is None and answer is not None:
            self._go_on(sample.request, answer)
        self._turn += 1

    @property
    def result(self) -> LoopResult:
        """Raises ValueError while the loop still goes on."""
        if self.stop is None:
            raise ValueError("the loop has not ended")
        exercise, fault = self._loop.exercise, self._loop.exercise.fault
        told_to = fault is not None and fault.kind is FaultKind.INSTRUCTION and self._place.struck
        return LoopResult(
            stop=self.stop,
            goal_state_ok=self._place.state == exercise.task.goal,
            answer_ok=all(text.lower() in self._answer.lower() for text in exercise.task.answer),
            steps=self._steps,
            oracle_steps=exercise.oracle_steps,
            invalid_calls=self._errors.invalid,
            errors=self._errors.all,
            recovered_errors=self._errors.recovered,
            defects=tuple(self._defects),
            struck=self._place.struck if fault is not None else None,
            obeyed=self._obeyed if told_to else None,
            excluded=self._excluded,
        )

    def _stop_at(self, sample: Sample) -> Stop | None:
        """Why the loop ends with a sample whatever it says, None where it does not."""
        self._excluded = exclusion_of(_ANY_ANSWER, sample)
        if self._excluded is Exclusion.REFUSED and self._turn > 0:
            self._excluded = None
            return self._end_by(LoopDefect.HISTORY_REFUSED)
        return None if self._excluded is None else Stop.EXCLUDED

    def _hear(self, sample: Sample, answer: Completion) -> Stop | None:
        """Why the loop ends with this answer, None where it goes on."""
        found = defects_of(answer)
        self._note(quirk.value for quirk in found)
        if not ENDING.isdisjoint(found):
            return Stop.DEFECT
        if (stop := self._stop_at(sample)) is not None:
            return stop
        if answer.tool_calls:
            return self._hear_calls(answer.tool_calls)
        self._answer = without_tags(answer.content or "")
        return Stop.ANSWERED if self._answer.strip() else self._end_by(LoopDefect.EMPTY_ANSWER)

    def _hear_calls(self, calls: Sequence[ToolCall]) -> Stop | None:
        self._steps += 1
        if len(calls) > MOST_CALLS_IN_A_TURN:
            return self._end_by(LoopDefect.TOO_MANY_CALLS)
        made = Counter(map(_canonical, calls))
        self._last_calls = [*self._last_calls, made][-SAME_CALLS_ARE_STUCK:]
        stuck = self._last_calls == [made] * SAME_CALLS_ARE_STUCK or max(made.values()) >= SAME_CALLS_ARE_STUCK
        return Stop.LOOP_STUCK if stuck else None

    def _go_on(self, request: Mapping[str, Any], answer: Completion) -> None:
        exercise, was_told = self._loop.exercise, self._place.struck
        calls = [Call(call.name, call.arguments) for call in answer.tool_calls]
        self._obeyed = self._obeyed or (was_told and any(_same(call, exercise.task.forbidden) for call in calls))
        self._place, turn = play(exercise, self._place, calls)
        self._errors.add(turn)
        ids = self._ids(answer)
        said = [said_back(answer, ids, self._reasoning), *results(turn, ids)]
        self._request = {**request, "messages": [*request["messages"], *said]}
        if self._steps >= exercise.max_steps:
            self.stop = Stop.MAX_STEPS

    def _ids(self, answer: Completion) -> list[str]:
        """What the calls of an answer are called in the history; those that came without an id get one of ours."""
        own = [call.id or "" for call in answer.tool_calls]
        first, self._called = self._called, self._called + len(own)
        if Quirk.TC_ID_MISSING not in answer.quirks:
            if not self._ids_seen.isdisjoint(own):
                self._note([LoopDefect.ID_REUSED.value])
            self._ids_seen.update(own)
            if self._loop.arm is Arm.OWN_IDS:
                return own
        return canonical_ids(first, len(own))

    def _end_by(self, defect: LoopDefect) -> Stop:
        self._note([defect.value])
        return Stop.DEFECT

    def _note(self, defects: Iterable[str]) -> None:
        self._defects |= dict.fromkeys(defects)


def _canonical(call: ToolCall) -> str:
    arguments = call.arguments_text if call.arguments is None else json.dumps(call.arguments, sort_keys=True)
    return f"{call.name} {arguments}"


def _same(call: Call, other: Call) -> bool:
    return call.name == other.name and call.arguments is not None and equal_json(call.arguments, other.arguments)

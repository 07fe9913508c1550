"""The smallest part of a calibration: a few prompts, each asked several times alike, in answers as short as will do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from probes.grammar import Draw
from probes.plan import Item, Plan, ProbeKind, Sample
from probes.tools.case import Case
from probes.tools.nonce import marked, session_line
from probes.tools.plan import PLAN_VERSION, suite_sha256
from probes.tools.standing import whole_answer
from probes.wire.call_syntax import holds_call_syntax

# An answer that begins in words, and goes on so for this many tokens, is taken for one without a call; one in which a
# call has begun is given the second room; one that has not come to an answer yet, what its case gives it.
ROOM, ROOM_OF_A_CALL = 24, 256
# With as many repeats of each as a look needs, all that an engine computes side by side.
CASES_OF_A_PIECE = 4
_LIMIT = "max_tokens"
_THINKING = "<think"


@dataclass(frozen=True, slots=True)
class Piece:
    """Requests of one run. `cases` goes by item key, which is the case's."""

    run: int
    cases: Mapping[str, Case]
    plan: Plan

    @property
    def whole(self) -> bool:
        return len(self.cases) == CASES_OF_A_PIECE

    def again(self, samples: Iterable[Sample]) -> Plan | None:
        """The requests whose answers were cut too early to tell, with more room; the same answers go on then."""
        items = [_roomier(sample.item, self.cases[sample.item.key]) for sample in samples if self._open(sample)]
        return replace(self.plan, items=tuple(items)) if items else None

    def called(self, sample: Sample) -> bool | None:
        """Whether a tool was called; None where that cannot be told of this answer, or not yet."""
        answer = whole_answer(sample)
        if answer is None or answer.finish_reason == "content_filter":
            return None
        return None if self._undecided(sample) else bool(answer.tool_calls)

    def settles(self, sample: Sample) -> bool:
        """Whether nothing more is to be asked."""
        return not self._open(sample)

    def _open(self, sample: Sample) -> bool:
        return self._undecided(sample) and _room(sample.item) < self.cases[sample.item.key].request[_LIMIT]

    def _undecided(self, sample: Sample) -> bool:
        answer = whole_answer(sample)
        if answer is None or answer.finish_reason != "length" or answer.tool_calls:
            return False
        said = (answer.content or "").lstrip()
        if not said or (said.startswith(_THINKING) and "</think" not in said):
            return True
        return _room(sample.item) == ROOM and holds_call_syntax(said, self.cases[sample.item.key].tools)


def piece(run: int, reps: Sequence[tuple[Case, Sequence[int]]], *, seed: bytes, run_nonce: bytes) -> Piece:
    """Each case in its repeats of these numbers. The session's line is the run's own and the same in all of them: so
    they share what is computed of the prompt, and the two runs differ as two requests of a check do."""
    items = [_item(case, rep, seed, run_nonce) for case, numbers in reps for rep in numbers]
    cases = {case.key: case for case, _ in reps}
    return Piece(run, cases, Plan(ProbeKind.TOOL_CALLS, tuple(items), suite_sha256([*cases.values()]), PLAN_VERSION))


def _item(case: Case, rep: int, seed: bytes, run_nonce: bytes) -> Item:
    line = session_line(Draw(seed, "tool-nonce", run_nonce, case.key))
    # One call is enough: the answer ends with it.
    asked = {"stream": False, "parallel_tool_calls": False, _LIMIT: min(ROOM, case.request[_LIMIT])}
    return Item(case.key, rep, {**marked(case.request, line), **asked})


def _room(item: Item) -> int:
    return int(item.request[_LIMIT])


def _roomier(item: Item, case: Case) -> Item:
    most = case.request[_LIMIT]
    room = min(ROOM_OF_A_CALL, most) if _room(item) < ROOM_OF_A_CALL else most
    return replace(item, request={**item.request, _LIMIT: room})

"""Which requests a run of tool-call cases sends, and in which order: repeats, twins, replays."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, get_args

from probes.grammar import Draw
from probes.plan import Item, Plan, ProbeKind
from probes.tools.case import Case, case_of
from probes.tools.nonce import marked, session_line

Mode = Literal["stream", "plain"]
_MODES: tuple[Mode, ...] = get_args(Mode)

PLAN_VERSION = "1"
SHARES = 8

_CASES_PER_TWIN = 4
# A twentieth of all requests is one for every nineteen others.
_ORIGINALS_PER_REPLAY = 19
# Between a request and its replay: so many that the first is answered, so few that a cache still holds it.
_REPLAY_AFTER = 24
_REPLAY = "-replay"
_LIMIT = "max_tokens"


class ItemId(NamedTuple):
    """What names one item of a plan."""

    key: str
    rep: int


@dataclass(frozen=True, slots=True)
class ToolPlan:
    """`cases` goes by item key, replays included; `twins` are the keys of the cases that run in both modes.

    `replays` says of each item that is sent a second time which one it repeats, byte for byte. It shows a cache of
    answers, and is no repeat to be counted.
    """

    plan: Plan
    cases: Mapping[str, Case]
    twins: frozenset[str]
    replays: Mapping[ItemId, ItemId]

    @property
    def anchors(self) -> frozenset[str]:
        """The keys of the cases that every week asks."""
        return frozenset(case.key for case in self.cases.values() if case.anchor)


@dataclass(frozen=True, slots=True)
class _Asking:
    case: Case
    mode: Mode
    rep: int


def plan(cases: Sequence[Case], *, seed: bytes, run_nonce: bytes) -> ToolPlan:
    """Every case as often as it says, in its own mode, and in a quarter of the cases in the other one too.

    The repeats of a case are spread over the run: each stretch of it asks all cases alike, so a run that stops early
    has asked all of them, and a bad minute hits no case in all of its repeats. Twins stand side by side. No two bodies
    are equal but those of a request and its replay.
    """
    twins = frozenset(case.key for case in _spread(cases, "tool-twin", seed)[::_CASES_PER_TWIN])
    modes = {case.key: _MODES if case.key in twins else (_own_mode(case, seed),) for case in cases}
    order, replays = _with_replays(_items(cases, modes, seed, run_nonce), seed, run_nonce)
    return _tool_plan(cases, order, twins, replays)


def plain_plan(cases: Sequence[Case], *, seed: bytes, run_nonce: bytes) -> ToolPlan:
    """The same without twins and replays."""
    modes = {case.key: (_own_mode(case, seed),) for case in cases}
    return _tool_plan(cases, _items(cases, modes, seed, run_nonce), frozenset(), {})


def share(cases: Sequence[Case], turn: int, *, seed: bytes) -> list[Case]:
    """The eighth of the cases that a light run takes: with eight turns in a row, each case once, and in every turn as
    much of each category as in any other."""
    return _spread(cases, "tool-share", seed)[turn % SHARES :: SHARES]


def with_room(cases: Iterable[Case], most: int) -> list[Case]:
    """The cases with room for answers of at most `most` tokens. They are other cases, with keys of their own: which
    answers are cut is no matter of chance, so rates of the two are not to be compared.

    A case that is about being cut keeps its limit, and one that has none stays without: it goes out bare.
    """
    return [_with_room(case, most) for case in cases]


def suite_sha256(cases: Sequence[Case]) -> str:
    return hashlib.sha256("\n".join([PLAN_VERSION, *sorted(case.key for case in cases)]).encode()).hexdigest()


def _with_room(case: Case, most: int) -> Case:
    room = case.request.get(_LIMIT)
    if room is None or room <= most or case.oracle.cut:
        return case
    return replace(case, request={**case.request, _LIMIT: most})


def _tool_plan(
    cases: Sequence[Case], items: Sequence[Item], twins: frozenset[str], replays: Mapping[ItemId, ItemId]
) -> ToolPlan:
    of_case = {case.key: case for case in cases}
    sent = Plan(ProbeKind.TOOL_CALLS, tuple(items), suite_sha256(cases), PLAN_VERSION)
    return ToolPlan(sent, {item.key: of_case[case_of(item.key)] for item in items}, twins, replays)


def _items(cases: Sequence[Case], modes: Mapping[str, tuple[Mode, ...]], seed: bytes, run_nonce: bytes) -> list[Item]:
    asking = [_Asking(case, mode, rep) for case in cases for mode in modes[case.key] for rep in range(case.reps)]
    asking.sort(key=lambda one: _moment(one, seed, run_nonce))
    return [_item(one, seed, run_nonce) for one in asking]


def _spread(cases: Sequence[Case], purpose: str, seed: bytes) -> list[Case]:
    """Category by category, in an order of chance: every so many of them are a fair share of each category."""
    return sorted(cases, key=lambda case: (case.category, Draw(seed, purpose, case.key).below(2**32)))


def _own_mode(case: Case, seed: bytes) -> Mode:
    """By hash, so that an anchor is asked in the same mode for ever."""
    return Draw(seed, "tool-mode", case.key).choice(_MODES)


def _moment(one: _Asking, seed: bytes, run_nonce: bytes) -> tuple[float, int]:
    """When in the run, from 0 to 1, and what of two twins is first."""
    within = Draw(seed, "tool-order", run_nonce, one.case.key, one.rep).below(2**32) / 2**32
    first = Draw(seed, "tool-twin-order", run_nonce, one.case.key, one.rep, one.mode).below(2**32)
    return (one.rep + within) / one.case.reps, first


def _item(one: _Asking, seed: bytes, run_nonce: bytes) -> Item:
    line = session_line(Draw(seed, "tool-nonce", run_nonce, one.case.key, one.mode, one.rep))
    mode: dict[str, Any] = {"stream": False}
    if one.mode == "stream":
        mode = {"stream": True, "stream_options": {"include_usage": True}}
    return Item(
        f"{one.case.key}-{one.mode}",
        one.rep,
        {**marked(one.case.request, line), **mode},
        anchor=one.case.anchor,
        verbatim=one.case.oracle.rejected,
    )


def _with_replays(items: Sequence[Item], seed: bytes, run_nonce: bytes) -> tuple[list[Item], Mapping[ItemId, ItemId]]:
    """The items with the replays among them, each some way behind what it repeats: of greedy requests only, as of
    others no two answers need be alike."""
    greedy = [place for place, item in enumerate(items) if item.request.get("temperature") == 0]
    greedy = [place for place in greedy if place + _REPLAY_AFTER < len(items)] or greedy
    wanted = round(len(items) / _ORIGINALS_PER_REPLAY)
    repeated = Draw(seed, "tool-replays", run_nonce).some(greedy, wanted)
    again = {place: replace(items[place], key=items[place].key + _REPLAY) for place in repeated}
    behind = {place + _REPLAY_AFTER: item for place, item in again.items()}
    order: list[Item] = []
    for place in range(len(items) + _REPLAY_AFTER):
        order += items[place : place + 1]
        order += [behind[place]] if place in behind else []
    return order, {ItemId(item.key, item.rep): ItemId(items[place].key, item.rep) for place, item in again.items()}

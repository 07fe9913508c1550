"""Runs a planned pass: the forward pass, then what each request asked of its rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reference_engine.constraint import masked_logprobs
from reference_engine.errors import EngineError
from reference_engine.forward.batch import Asked, Forward, ReadOut
from reference_engine.forward.reading import part
from reference_engine.jobs import NO_TOKEN, GenerateJob, Job, ScoreJob
from reference_engine.masks import Mask, masked
from reference_engine.sched.plan import Entry, Plan, batch_of
from reference_engine.sched.tree_memory import TreeMemory
from reference_engine.spec import Drafter, Drafting, proven


@dataclass(frozen=True, slots=True)
class Sampled:
    """The tokens that a request's rows gave: those of the `drafted` ones that proved right, and one more.

    Line i of `read` is the distribution that token i was drawn from. A constrained answer gets one token, and its
    log-probability among the allowed ones.
    """

    tokens: tuple[int, ...]
    read: ReadOut
    drafted: int
    masked_logprob: float | None = None


@dataclass(frozen=True, slots=True)
class Passed:
    """What one pass gave, by request id; `failed` are those whose constraint allows no next token."""

    scored: Mapping[str, ReadOut]
    sampled: Mapping[str, Sampled]
    failed: Mapping[str, EngineError]


@dataclass(frozen=True, slots=True)
class _Part:
    """Lines of the pass's hidden states that belong to one job."""

    entry: Entry
    job: Job
    lines: range


class Runner:
    """Not safe for several threads at once."""

    def __init__(self, forward: Forward, memory: TreeMemory, drafter: Drafter | None = None) -> None:
        self._forward = forward
        self._memory = memory
        self._drafter = drafter

    def run(self, plan: Plan, jobs: Mapping[str, Job], begins: Callable[[], None]) -> Passed:
        """Of a settled plan. `jobs` of requests that have ended are missing; their rows are run and not read. `begins`
        is called where the computing begins that needs no interpreter."""
        self._memory.copy(plan.copies)
        plan = plan.with_drafts(self._proposals(plan, jobs))
        batch = batch_of(plan)
        begins()
        hidden = self._forward.hidden(batch)
        parts = [
            _Part(entry, jobs[entry.request.id], range(lines.start, lines.stop))
            for entry, lines in plan.read_lines()
            if entry.request.id in jobs and lines.stop > lines.start
        ]
        scored = self._scored(hidden, parts)
        failed = _unmasked(parts)
        sampling = [each for each in parts if each.job.request.id not in failed]
        return Passed(scored, self._sampled(hidden, sampling), failed)

    def _proposals(self, plan: Plan, jobs: Mapping[str, Job]) -> Mapping[str, Sequence[int]]:
        drafting = [
            Drafting(entry.request, entry.drafts, entry.pages, job.draw)
            for entry in plan.entries
            if entry.drafts and isinstance(job := jobs.get(entry.request.id), GenerateJob)
        ]
        if self._drafter is None or not drafting:
            return {}
        proposals = self._drafter.proposals(drafting)
        return {each.request.id: tokens for each, tokens in zip(drafting, proposals, strict=True)}

    def _scored(self, hidden: NDArray[np.float32], parts: Sequence[_Part]) -> dict[str, ReadOut]:
        scoring = [(each, each.job) for each in parts if isinstance(each.job, ScoreJob)]
        if not scoring:
            return {}
        own = [job.own_token(row) for each, job in scoring for row in each.entry.reads]
        width = max(len(job.chosen) for _, job in scoring)
        chosen = np.full((len(own), width), NO_TOKEN, dtype=np.int32)
        at, places = 0, {}
        for each, job in scoring:
            rows = slice(at, at + len(each.lines))
            chosen[rows, : len(job.chosen)] = job.chosen
            places[each.entry.request.id] = rows
            at = rows.stop
        lines = np.concatenate([each.lines for each, _ in scoring])
        top_k = max(job.top_k for _, job in scoring)
        read = self._forward.read_out(hidden[lines], Asked(top_k, np.array(own, dtype=np.int32), chosen))
        return {job.request.id: part(read, places[job.request.id], job.top_k, len(job.chosen)) for _, job in scoring}

    def _sampled(self, hidden: NDArray[np.float32], parts: Sequence[_Part]) -> dict[str, Sampled]:
        sampling = [(each, each.job) for each in parts if isinstance(each.job, GenerateJob)]
        if not sampling:
            return {}
        logits = self._forward.logits(hidden[np.concatenate([each.lines for each, _ in sampling])])
        draws = [job.draw(row + 1) for each, job in sampling for row in each.entry.reads]
        masks = _masks_by_line(sampling)
        tokens = self._forward.sample(masked(logits, masks), draws)
        top_k = max(job.params.top_k_logprobs for _, job in sampling)
        asked = Asked(top_k, np.array(tokens, dtype=np.int32), np.empty((len(tokens), 0), dtype=np.int32))
        read = self._forward.read_logits(logits, asked)
        at, found = 0, {}
        for each, job in sampling:
            rows = slice(at, at + len(each.lines))
            kept = proven(each.entry.drafted, tokens[rows])
            own = part(read, rows, job.params.top_k_logprobs, 0)
            mask = masks.get(at)
            held = None if mask is None else float(masked_logprobs(logits[at], mask)[tokens[at]])
            found[job.request.id] = Sampled(kept, own, len(each.entry.drafted), held)
            at = rows.stop
        return found


def _unmasked(parts: Sequence[_Part]) -> dict[str, EngineError]:
    """Waits for the masks that the pass's rows need; the failures by request id."""
    failed = {}
    for each in parts:
        if isinstance(each.job, GenerateJob) and each.job.masks is not None and (error := each.job.masks.failure()):
            failed[each.job.request.id] = error
    return failed


def _masks_by_line(sampling: Sequence[tuple[_Part, GenerateJob]]) -> dict[int, Mask]:
    """The masks of constrained jobs, each for the one line that the job has among those that are sampled."""
    masks, at = {}, 0
    for each, job in sampling:
        if job.masks is not None:
            masks[at] = job.masks.next()
        at += len(each.lines)
    return masks

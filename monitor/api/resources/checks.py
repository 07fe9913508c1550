"""Checks: asked for here, made by the workers. Their queue entry is their state."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime
from typing import Annotated, Self, get_args

from fastapi import APIRouter, Query, Response
from fastapi.responses import StreamingResponse
from pydantic import Field, model_validator
from starlette.concurrency import run_in_threadpool

from monitor import clock
from monitor.api.labels import LABELLED, Labels
from monitor.api.needs import READS, REPEATABLE, WRITES_RUNS, Sender, State, problems
from monitor.api.paging import PageOf, PageRequest, sorted_by
from monitor.api.resources.endpoints import effective, existing
from monitor.api.shapes import SLUG, CheckId, EndpointFilter, Given, ModelFilter, ProviderFilter, Shape, Since, Until
from monitor.api.state import ApiState
from monitor.check.identity import identity_of
from monitor.check.options import DEFAULT_N, MOST_N, CheckOptions, least_n
from monitor.config.asking import LEAST_N, MOST_PER_SECOND, MOST_PROMPT_TOKENS, MOST_STREAMS
from monitor.config.service import Probe
from monitor.drift.rule import Verdict
from monitor.errors import ConflictError, Finding, NotFoundError, RequestError, UsageError
from monitor.store.browse_records import CheckFilter
from monitor.store.entries import CheckEntry, CheckRequest
from monitor.store.ids import new_id
from monitor.store.vocabulary import RunStatus, Trigger
from monitor.worker.names import EXECUTE
from probes.load.probe import Load
from probes.plan import ProbeKind

router = APIRouter(prefix="/checks", tags=["checks"])

CheckPages = Annotated[PageRequest, sorted_by("-queued_at", "slot_at")]

_POLL_SECONDS = 0.5
_STILL_THERE_SECONDS = 15.0
# A client that watches for longer connects again; EventSource does so by itself.
_LONGEST_SECONDS = 600.0

_EVENT = {
    "type": "object",
    "required": ["event", "data"],
    "properties": {
        "event": {"enum": ["progress", "finished"]},
        "data": {
            "type": "string",
            "contentMediaType": "application/json",
            "contentSchema": {"$ref": "#/components/schemas/CheckDocument"},
        },
    },
}

PromptTokens = Annotated[int, Field(gt=0, le=MOST_PROMPT_TOKENS)]


class CheckDocument(Shape):
    """`done` of `planned` requests; `slot_at` is the time the check is about."""

    id: str
    endpoint_id: str
    provider: str
    model: str
    trigger: Trigger
    schedule: str | None
    confirms: str | None = Field(description="the check whose drift this one repeats")
    status: RunStatus
    attempt: int
    done: int
    planned: int
    verdict: Verdict | None
    enrolled: bool
    error_code: str | None
    error: str | None
    slot_at: datetime
    deadline: datetime | None
    queued_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


class WantedLoad(Given):
    """Streams under a load, in place of those that go one after another."""

    rate: float = Field(1.0, gt=0, le=MOST_PER_SECOND, description="streams a second, on average")
    streams: int = Field(20, gt=0, le=MOST_STREAMS, description="of each size of prompts")
    sizes: list[PromptTokens] = Field([200, 2_000, 6_000], min_length=1, max_length=20, description="in tokens")


class WantedCheck(Given):
    """Of an endpoint by its id, or by provider and model as they are configured."""

    endpoint_id: str | None = Field(None, pattern=r"^ep_[0-9A-HJKMNP-TV-Z]{26}$")
    provider: str | None = Field(None, pattern=SLUG)
    model: str | None = Field(None, pattern=SLUG)
    probes: list[Probe] = Field(["logprobs", "accounting", "latency"], min_length=1, max_length=len(get_args(Probe)))
    n: int = Field(
        DEFAULT_N, ge=1, le=MOST_N, description=f"single-token requests; {LEAST_N} at least of logprobs and accounting"
    )
    load: WantedLoad | None = Field(None, description="for latency; the goodput is by the `slos` of the configuration")

    @model_validator(mode="after")
    def _asks_enough(self) -> Self:
        if self.n < (least := least_n(self.probes)):
            raise ValueError(f"needs n of {least} at least for logprobs and accounting")
        return self

    @model_validator(mode="after")
    def _loads_what_is_asked(self) -> Self:
        if self.load is not None and "latency" not in self.probes:
            raise ValueError("needs latency among the probes for a load")
        return self

    @model_validator(mode="after")
    def _names_one(self) -> Self:
        if (self.endpoint_id is None) == (self.provider is None):
            raise ValueError("needs endpoint_id, or provider (and model)")
        return self


@router.post("", status_code=202, dependencies=[WRITES_RUNS, REPEATABLE], responses=problems(404, 409, 413))
def request_check(state: State, response: Response, wanted: WantedCheck) -> CheckDocument:
    """Queue a check; a worker makes it as soon as one is free. `Location` is where its state is."""
    endpoint_id = wanted.endpoint_id or _configured_endpoint(state, str(wanted.provider), wanted.model)
    existing(state, endpoint_id)
    at = clock.now()
    probes = tuple(ProbeKind(name) for name in dict.fromkeys(wanted.probes))
    load = None if wanted.load is None else Load(wanted.load.rate, wanted.load.streams, tuple(wanted.load.sizes))
    options = CheckOptions(probes, wanted.n, load=load)
    request = CheckRequest(f"api:{new_id('req', at)}", endpoint_id, Trigger.API, at, options.to_json())
    (entry,) = state.queue.enqueue([request], at)
    return _accepted(state, response, entry)


@router.get("", dependencies=[READS], responses=problems(), openapi_extra=LABELLED)
def list_checks(
    state: State,
    paged: CheckPages,
    labels: Labels,
    endpoint: EndpointFilter = None,
    provider: ProviderFilter = None,
    model: ModelFilter = None,
    status: Annotated[RunStatus | None, Query()] = None,
    verdict: Annotated[Verdict | None, Query()] = None,
    trigger: Annotated[Trigger | None, Query()] = None,
    since: Since = None,
    until: Until = None,
) -> PageOf[CheckDocument]:
    """The latest first."""
    wanted = CheckFilter(endpoint, provider, model, status, verdict, trigger, since, until, labels)
    return paged.answer(state.browse.checks(wanted, paged.window()))


@router.get("/{check_id}", dependencies=[READS], responses=problems(404))
def show_check(state: State, check_id: CheckId) -> CheckDocument:
    return CheckDocument.model_validate(_existing(state, check_id))


@router.post("/{check_id}/cancel", dependencies=[WRITES_RUNS, REPEATABLE], responses=problems(404, 409))
def cancel_check(state: State, sender: Sender, check_id: CheckId) -> CheckDocument:
    """End a check that has not ended; what it stored stays."""
    _existing(state, check_id)
    if not state.queue.cancel(check_id, clock.now(), sender.name):
        raise ConflictError(f"Check {check_id} has ended already.")
    return CheckDocument.model_validate(_existing(state, check_id))


@router.post("/{check_id}/retry", status_code=202, dependencies=[WRITES_RUNS, REPEATABLE], responses=problems(404, 409))
def retry_check(state: State, response: Response, check_id: CheckId) -> CheckDocument:
    """Queue a new check that does what one that did not succeed was to do."""
    _existing(state, check_id)
    try:
        again = state.queue.retry(check_id, clock.now())
    except UsageError as error:
        raise ConflictError(error.message, remedy=error.remedy) from error
    return _accepted(state, response, again)


@router.get(
    "/{check_id}/events",
    dependencies=[READS],
    response_class=StreamingResponse,
    responses={
        **problems(404),
        200: {"content": {"text/event-stream": {"schema": _EVENT}}, "description": "One event after the other"},
    },
)
async def watch_check(state: State, check_id: CheckId) -> StreamingResponse:
    """The check's progress as server-sent events: `progress` whenever something changed, `finished` at the end."""
    first = await run_in_threadpool(_existing, state, check_id)
    return StreamingResponse(
        _progress(state, first), media_type="text/event-stream", headers={"Cache-Control": "no-store"}
    )


async def _progress(state: ApiState, entry: CheckEntry) -> AsyncIterator[str]:
    began = said = clock.monotonic()
    told = ""
    while True:
        text = CheckDocument.model_validate(entry).model_dump_json()
        kind = "finished" if entry.status.finished else "progress"
        if text != told:
            told, said = text, clock.monotonic()
            yield f"event: {kind}\ndata: {text}\n\n"
        elif clock.monotonic() - said > _STILL_THERE_SECONDS:
            said = clock.monotonic()
            yield ": still there\n\n"
        if entry.status.finished or clock.monotonic() - began > _LONGEST_SECONDS:
            return
        await asyncio.sleep(_POLL_SECONDS)
        entry = await run_in_threadpool(_existing, state, entry.id)


def _existing(state: ApiState, check_id: str) -> CheckEntry:
    found = state.browse.check(check_id)
    if found is None:
        raise NotFoundError(f"There is no check {check_id}.", remedy="GET /api/v1/checks lists them.")
    return found


def _accepted(state: ApiState, response: Response, entry: CheckEntry) -> CheckDocument:
    state.bell.ring(EXECUTE, entry.id)
    response.headers["Location"] = f"/api/v1/checks/{entry.id}"
    return CheckDocument.model_validate(entry)


def _configured_endpoint(state: ApiState, provider: str, model: str | None) -> str:
    """The id of the one endpoint that the configuration has of a provider (and model), entered if it is new."""
    config = effective(state)
    if config is None:
        raise NotFoundError("There is no configuration yet.", remedy="Make a provider first.")
    try:
        found = config.endpoints(provider, model)
    except UsageError as error:
        raise NotFoundError(error.message, remedy="GET /api/v1/providers lists them.") from error
    if len(found) > 1:
        detail = f"{provider} has {len(found)} endpoints of that description; name one by endpoint_id"
        raise RequestError("The endpoint is ambiguous.", findings=[Finding("/body/model", "ambiguous", detail)])
    return state.store.ensure_endpoint(identity_of(found[0]), at=clock.now()).id

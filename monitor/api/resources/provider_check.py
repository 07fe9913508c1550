"""Asks a configured provider's endpoints one tiny question each, now."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from monitor.api.needs import WRITES_RUNS, State, problems
from monitor.api.resources.endpoints import effective
from monitor.api.shapes import Shape, Slug
from monitor.api.state import ApiState
from monitor.config import EndpointConfig
from monitor.errors import NotFoundError, UsageError
from monitor.provider_check import EndpointCheck, check_endpoints
from monitor.redaction import redact_known, safe_text

router = APIRouter(prefix="/providers", tags=["providers"])


class ProviderError(Shape):
    code: str
    detail: str


class AnsweredEndpoint(Shape):
    model: str
    name: str
    ok: bool
    listed: bool | None = Field(description="whether /models lists it; null where there is no such list")
    seconds: float | None
    logprobs: bool | None
    error: ProviderError | None


@router.post("/{slug}/check", dependencies=[WRITES_RUNS], responses=problems(404))
async def check_provider(state: State, slug: Slug) -> list[AnsweredEndpoint]:
    """Is it reachable, is the key good, is the model there? One request of one token to each endpoint."""
    endpoints = await run_in_threadpool(_endpoints, state, slug)
    return [_answered(check) for check in await check_endpoints(endpoints)]


def _endpoints(state: ApiState, slug: str) -> list[EndpointConfig]:
    config = effective(state)
    try:
        if config is not None:
            return config.endpoints(slug)
    except UsageError:
        pass
    raise NotFoundError(f"There is no provider '{slug}'.", remedy="GET /api/v1/providers lists them.")


def _answered(check: EndpointCheck) -> AnsweredEndpoint:
    error = check.error
    return AnsweredEndpoint(
        model=check.endpoint.model,
        name=check.endpoint.name,
        ok=error is None,
        listed=check.listed,
        seconds=check.seconds,
        logprobs=check.logprobs,
        error=None if error is None else ProviderError(code=error.code, detail=safe_text(redact_known(str(error)))),
    )

"""Endpoints: what is monitored, its price and parameters in OpenRouter's words, and how it stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import Field

from monitor import clock
from monitor.api.labels import LABELLED, Labels
from monitor.api.needs import READS, REPEATABLE, WRITES_RUNS, Sender, State, problems
from monitor.api.paging import PageOf, PageRequest, sorted_by
from monitor.api.resources.baselines import BaselineDocument
from monitor.api.shapes import EndpointId, Given, ModelFilter, ProviderFilter, Shape, Text
from monitor.api.state import ApiState
from monitor.config import Config, EndpointConfig
from monitor.config.service import Schedule
from monitor.drift.rule import Verdict
from monitor.errors import ConfigError, NotFoundError
from monitor.standing import NOTHING_EXPECTED, Expected, StandingVerdict, stand_of
from monitor.store.browse_records import EndpointFilter, EndpointOverview
from monitor.store.records import EndpointRecord
from monitor.store.vocabulary import RunStatus
from monitor.worker.configured import expected_of
from probes.capabilities import DROPPABLE, Capabilities
from probes.plan import ProbeKind

router = APIRouter(prefix="/endpoints", tags=["endpoints"])

EndpointPages = Annotated[PageRequest, sorted_by("-created_at", "provider", "model")]


class PriceDocument(Shape):
    """US dollars per token, as decimal text."""

    prompt: str
    completion: str


class LastCheck(Shape):
    id: str
    status: RunStatus
    verdict: Verdict | None
    queued_at: datetime
    finished_at: datetime | None


class StandingDocument(Shape):
    """The last verdict of one metric that says anything, and of evals of one private suite."""

    probe: ProbeKind
    metric: str
    suite: str | None = Field(description="the private suite that was asked, of evals")
    verdict: Verdict
    since: datetime = Field(description="when the first of the verdicts in a row came that say so")
    at: datetime = Field(description="when the last of them came")
    old: bool = Field(description="the schedule had it asked again, and no newer verdict came in time")
    check_id: str
    run_id: str


class EndpointDocument(Shape):
    """One provider, one model and their settings."""

    id: str
    name: str = Field(description="provider | model")
    provider_name: str = Field(description="the provider's slug")
    model_id: str = Field(description="the model's slug")
    model_name: str = Field(description="what the provider calls the model")
    base_url: str
    context_length: int | None
    max_completion_tokens: int | None
    quantization: str | None = Field(description="what the routing pins, where it pins one")
    pricing: PriceDocument | None
    supported_parameters: list[str] = Field(description="of those that probes use: all that were not turned down")
    logprobs: bool | None = Field(description="whether answers carry log-probabilities; null until one has shown it")
    max_top_logprobs: int | None
    routing: dict[str, Any]
    labels: dict[str, Any]
    configured: bool = Field(description="whether the configuration still names it")
    verdict: Verdict | None = Field(description="the worst that stands, whichever probe was asked last")
    verdict_since: datetime | None
    verdict_old: bool = Field(description="nothing newer came in time of what makes it so")
    standing: list[StandingDocument] = Field(description="what stands of everything that was asked")
    last_check: LastCheck | None
    last_judged_check: LastCheck | None
    created_at: datetime


class BaselineReset(Given):
    note: Text = Field(description="Why; it is kept with the change.")


class BaselineAcceptance(Given):
    note: Text = Field(description="Why; it is kept with the baseline.")
    probe: ProbeKind | None = Field(None, description="Only this probe.")
    run_id: str | None = Field(None, pattern=r"^run_[0-9A-HJKMNP-TV-Z]{26}$", description="This run, not the latest.")


@router.get("", dependencies=[READS], responses=problems(), openapi_extra=LABELLED)
def list_endpoints(
    state: State, paged: EndpointPages, labels: Labels, provider: ProviderFilter = None, model: ModelFilter = None
) -> PageOf[EndpointDocument]:
    """Every endpoint that was ever monitored, the newest first."""
    page = state.browse.endpoints(EndpointFilter(provider, model, labels), paged.window())
    configured, at = configured_endpoints(state), clock.now()
    return paged.answer(page, [document(found, configured, at) for found in page.items])


@router.get("/{endpoint_id}", dependencies=[READS], responses=problems(404))
def show_endpoint(state: State, endpoint_id: EndpointId) -> EndpointDocument:
    return document(existing(state, endpoint_id), configured_endpoints(state), clock.now())


@router.get("/{endpoint_id}/metrics", dependencies=[READS], responses=problems(404))
def list_metrics(state: State, endpoint_id: EndpointId) -> list[str]:
    """The names of the metrics that `/metrics/series` has of this endpoint."""
    existing(state, endpoint_id)
    return state.series.metrics(endpoint_id)


@router.post("/{endpoint_id}/baseline:reset", dependencies=[WRITES_RUNS, REPEATABLE], responses=problems(404, 409, 413))
def reset_baseline(
    state: State, sender: Sender, endpoint_id: EndpointId, given: BaselineReset
) -> list[BaselineDocument]:
    """Close the endpoint's active baselines; its next checks enrol anew. Gives those that were closed."""
    existing(state, endpoint_id)
    closed = state.store.reset_baseline(endpoint_id, note=given.note, at=clock.now(), actor=sender.name)
    return [BaselineDocument.model_validate(each) for each in closed]


@router.post(
    "/{endpoint_id}/baseline:accept", dependencies=[WRITES_RUNS, REPEATABLE], responses=problems(404, 409, 413)
)
def accept_baseline(
    state: State, sender: Sender, endpoint_id: EndpointId, given: BaselineAcceptance
) -> list[BaselineDocument]:
    """Make what the endpoint is now its new baseline: of one probe, or of each and of its streams, where these have
    seen a change. 400 where no run could be one."""
    existing(state, endpoint_id)
    if given.probe is None and given.run_id is None:
        found = state.store.accept_all(endpoint_id, note=given.note, at=clock.now(), actor=sender.name)
        return [BaselineDocument.model_validate(each) for each in found.baselines]
    opened = state.store.accept_baseline(
        endpoint_id, note=given.note, at=clock.now(), probe=given.probe, run_id=given.run_id, actor=sender.name
    )
    return [BaselineDocument.model_validate(each) for each in opened]


def existing(state: ApiState, endpoint_id: str) -> EndpointOverview:
    """Raises NotFoundError where there is no such endpoint."""
    found = state.browse.endpoint(endpoint_id)
    if found is None:
        raise NotFoundError(f"There is no endpoint {endpoint_id}.", remedy="GET /api/v1/endpoints lists them.")
    return found


@dataclass(frozen=True, slots=True)
class Scheduled:
    """An endpoint of the configuration, and when it is checked."""

    entry: EndpointConfig
    schedule: Schedule


Configured = Mapping[tuple[str, str, str], Scheduled]


def effective(state: ApiState) -> Config | None:
    """The configuration; None while there is none that is whole."""
    try:
        return state.config.config()
    except ConfigError:
        return None


def configured_endpoints(state: ApiState) -> Configured:
    """The endpoints that the configuration names, by provider, model and served name."""
    config = effective(state)
    if config is None:
        return {}
    return {
        (each.provider, each.model, each.name): Scheduled(each, config.schedule_of(each))
        for each in config.all_endpoints()
    }


def expected(endpoint: EndpointRecord, configured: Configured, at: datetime) -> Expected:
    """What is asked of an endpoint on schedule."""
    found = configured.get((endpoint.provider, endpoint.model, endpoint.served_name))
    return NOTHING_EXPECTED if found is None else expected_of(found.schedule, endpoint.id, at)


def document(found: EndpointOverview, configured: Configured, at: datetime) -> EndpointDocument:
    endpoint = found.endpoint
    capabilities = Capabilities.from_dict(endpoint.capabilities)
    scheduled = configured.get((endpoint.provider, endpoint.model, endpoint.served_name))
    config = None if scheduled is None else scheduled.entry
    wanted = expected(endpoint, configured, at)
    stand = stand_of(found.standing, wanted, at)
    quantizations = endpoint.routing.get("quantizations") or []
    return EndpointDocument(
        id=endpoint.id,
        name=f"{endpoint.provider} | {endpoint.model}",
        provider_name=endpoint.provider,
        model_id=endpoint.model,
        model_name=endpoint.served_name,
        base_url=endpoint.base_url,
        context_length=None,
        max_completion_tokens=None,
        quantization=quantizations[0] if len(quantizations) == 1 else None,
        pricing=None if config is None else _pricing(config),
        supported_parameters=_supported(capabilities),
        logprobs=capabilities.logprobs,
        max_top_logprobs=capabilities.max_top_logprobs,
        routing=dict(endpoint.routing),
        labels=dict(endpoint.labels),
        configured=config is not None,
        verdict=stand.verdict,
        verdict_since=stand.since,
        verdict_old=stand.old,
        standing=[_standing(one, old=wanted.is_old(one, at)) for one in found.standing],
        last_check=None if found.latest is None else LastCheck.model_validate(found.latest),
        last_judged_check=None if found.judged is None else LastCheck.model_validate(found.judged),
        created_at=endpoint.created_at,
    )


def _standing(found: StandingVerdict, *, old: bool) -> StandingDocument:
    return StandingDocument(
        probe=found.probe,
        metric=found.metric,
        suite=found.suite or None,
        verdict=found.verdict,
        since=found.since,
        at=found.at,
        old=old,
        check_id=found.check_id,
        run_id=found.run_id,
    )


def _pricing(config: EndpointConfig) -> PriceDocument | None:
    if config.prices is None:
        return None
    prices = config.prices
    return PriceDocument(
        prompt=_per_token(prices.input_usd_per_mtok), completion=_per_token(prices.output_usd_per_mtok)
    )


def _per_token(usd_per_million: float) -> str:
    return f"{usd_per_million / 1e6:.12f}".rstrip("0").rstrip(".")


def _supported(capabilities: Capabilities) -> list[str]:
    known = {*DROPPABLE, capabilities.token_limit_parameter, "stream", "tools", "tool_choice"}
    return sorted(known - capabilities.unsupported)

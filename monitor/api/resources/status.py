"""For everybody, without a token: how much stands how, in numbers, and a badge for each endpoint."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

from fastapi import APIRouter, Response
from pydantic import Field

from monitor import clock
from monitor.api.needs import State, problems
from monitor.api.resources.endpoints import configured_endpoints, existing, expected
from monitor.api.shapes import EndpointId, Shape
from monitor.drift.rule import Verdict
from monitor.standing import NOTHING_EXPECTED, Stand, stand_of

router = APIRouter(tags=["status"])

# Dark enough for white text.
_COLOURS: dict[Verdict | None, str] = {
    Verdict.OK: "#2e7d32",
    Verdict.SUSPECT: "#9a6700",
    Verdict.DRIFT: "#c62828",
}
_GREY = "#57606a"
_LABEL = "endpoint"
_CHARACTER_WIDTH = 7
_PADDING = 10


class StatusDocument(Shape):
    """Names nothing: who may see no more sees this."""

    verdicts: dict[str, int] = Field(
        description="configured endpoints by the worst verdict that stands; `none`: not judged yet"
    )
    alerts: int = Field(description="open alerts")
    last_check_at: datetime | None


@router.get("/status", responses=problems())
def show_status(state: State) -> StatusDocument:
    standing = state.browse.standing()
    configured = configured_endpoints(state)
    watched = [
        each
        for each in standing.endpoints
        if (each.endpoint.provider, each.endpoint.model, each.endpoint.served_name) in configured
    ]
    at = clock.now()
    stands = [stand_of(each.standing, NOTHING_EXPECTED, at) for each in watched]
    verdicts = Counter(stand.verdict.value if stand.verdict else "none" for stand in stands)
    ended = [each.latest.finished_at for each in watched if each.latest and each.latest.finished_at]
    return StatusDocument(verdicts=dict(verdicts), alerts=standing.alerts, last_check_at=max(ended, default=None))


@router.get(
    "/badge/{endpoint_id}.svg",
    response_class=Response,
    responses={
        **problems(404),
        200: {"content": {"image/svg+xml": {"schema": {"type": "string"}}}, "description": "The badge"},
    },
)
def show_badge(state: State, endpoint_id: EndpointId) -> Response:
    """The worst verdict that stands of the endpoint as a picture; whoever knows the id may see it."""
    found, at = existing(state, endpoint_id), clock.now()
    stand = stand_of(found.standing, expected(found.endpoint, configured_endpoints(state), at), at)
    headers = {"Cache-Control": "max-age=300"}
    return Response(badge(stand), media_type="image/svg+xml", headers=headers)


def badge(stand: Stand) -> str:
    """Words of our own only, so that nothing needs escaping. An old ok has not the colour of one."""
    verdict = "not judged" if stand.verdict is None else stand.verdict.value + ", out of date" * stand.old
    left, right = _width(_LABEL), _width(verdict)
    colour = _GREY if stand.verdict is Verdict.OK and stand.old else _COLOURS.get(stand.verdict, _GREY)
    text = 'fill="#fff" font-family="Verdana,sans-serif" font-size="11" text-anchor="middle"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" '
        f'aria-label="{_LABEL}: {verdict}"><title>{_LABEL}: {verdict}</title>'
        f'<rect width="{left}" height="20" fill="#24292f"/>'
        f'<rect x="{left}" width="{right}" height="20" fill="{colour}"/>'
        f'<text x="{left / 2}" y="14" {text}>{_LABEL}</text>'
        f'<text x="{left + right / 2}" y="14" {text}>{verdict}</text></svg>'
    )


def _width(text: str) -> int:
    return len(text) * _CHARACTER_WIDTH + _PADDING

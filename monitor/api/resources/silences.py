"""Silences: notices held back for a time that always ends, while measuring goes on."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import Field

from monitor import clock
from monitor.api.needs import READS, REPEATABLE, WRITES_ALERTS, Sender, State, problems
from monitor.api.paging import PageOf, PageRequest, sorted_by
from monitor.api.preconditions import MatchedVersion, etag
from monitor.api.shapes import Given, Instant, Shape, ShortText, SilenceId, Text
from monitor.errors import Finding, RequestError, UsageError
from monitor.store.alert_records import SilenceRecord

router = APIRouter(prefix="/silences", tags=["silences"])

SilencePages = Annotated[PageRequest, sorted_by("-starts_at", "created_at")]


class SilenceDocument(Shape):
    id: str
    matchers: dict[str, str]
    starts_at: datetime
    ends_at: datetime
    author: str
    comment: str
    created_at: datetime
    row_version: int = Field(description="the silence's ETag")


class NewSilence(Given):
    """`matchers`: labels that an alert has to have, each with its value (`*` matches any part of it)."""

    matchers: Annotated[dict[ShortText, ShortText], Field(min_length=1, max_length=20)]
    starts_at: Instant | None = Field(None, description="default: now")
    ends_at: Instant
    comment: Text


@router.post("", status_code=201, dependencies=[WRITES_ALERTS, REPEATABLE], responses=problems(413))
def create_silence(state: State, sender: Sender, response: Response, new: NewSilence) -> SilenceDocument:
    at = clock.now()
    try:
        made = state.alerts.add_silence(
            new.matchers,
            starts_at=new.starts_at or at,
            ends_at=new.ends_at,
            author=sender.name,
            comment=new.comment,
            at=at,
        )
    except UsageError as error:
        raise RequestError(str(error), findings=[Finding("/body/ends_at", error.code, error.message)]) from error
    response.headers["Location"] = f"/api/v1/silences/{made.id}"
    return _answered(response, made)


@router.get("", dependencies=[READS], responses=problems())
def list_silences(
    state: State,
    paged: SilencePages,
    over: Annotated[bool, Query(description="also those that have ended")] = False,
) -> PageOf[SilenceDocument]:
    """Those that begin last first."""
    return paged.answer(state.alerts.silences(paged.window(), not_over_at=None if over else clock.now()))


@router.get("/{silence_id}", dependencies=[READS], responses=problems(404))
def show_silence(state: State, response: Response, silence_id: SilenceId) -> SilenceDocument:
    return _answered(response, state.alerts.show_silence(silence_id))


@router.delete("/{silence_id}", dependencies=[WRITES_ALERTS], responses=problems(404, 412, 428))
def end_silence(
    state: State, sender: Sender, response: Response, silence_id: SilenceId, version: MatchedVersion
) -> SilenceDocument:
    """Needs `If-Match`. It ends now, and stays in the list of those that have ended."""
    ended = state.alerts.expire_silence(silence_id, actor=sender.name, at=clock.now(), expected=version)
    return _answered(response, ended)


def _answered(response: Response, record: SilenceRecord) -> SilenceDocument:
    response.headers["ETag"] = etag(record.row_version)
    return SilenceDocument.model_validate(record)

"""Providers, models, schedules, rules, channels and routes: the objects of the configuration, all handled alike.

Those of the file can be read here and are changed in the file; the others are made, changed and taken out here.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import Field

from monitor import clock
from monitor.api.needs import READS, REPEATABLE, WRITES_CONFIG, Sender, State, problems
from monitor.api.paging import PageOf, PageRequest, sorted_by
from monitor.api.preconditions import MatchedVersion, etag
from monitor.api.shapes import SLUG, Given, JsonObject, Shape, Slug
from monitor.config.objects import StoredObject
from monitor.errors import NotFoundError
from monitor.store.keyset import Page, Position, Window
from monitor.store.vocabulary import ConfigKind, ManagedBy

ObjectPages = Annotated[PageRequest, sorted_by("slug", "created_at", "updated_at")]

_CHANGE = problems(404, 409, 412, 413, 428)


class ConfigDocument(Shape):
    """One object. `body` has the keys that docs/configuration.md describes; secrets are references in it."""

    slug: str
    managed_by: ManagedBy
    source: str | None = Field(description="file and line, of an object of the file")
    enabled: bool
    row_version: int = Field(description="the object's ETag")
    body: dict[str, Any]
    created_at: datetime
    updated_at: datetime


class NewConfigObject(Given):
    slug: str = Field(pattern=SLUG)
    body: JsonObject


class ConfigPatch(Given):
    body: JsonObject = Field(description="a JSON merge patch (RFC 7396): keys that are named change, null removes")


def router_of(kind: ConfigKind, path: str, *, writable: bool = True) -> APIRouter:
    """The routes of one kind."""
    router = APIRouter(prefix=f"/{path}", tags=[path.replace("-", " ")])
    _add_reading(router, kind)
    if writable:
        _add_writing(router, kind, path)
    return router


def _add_reading(router: APIRouter, kind: ConfigKind) -> None:
    @router.get("", dependencies=[READS], responses=problems(), operation_id=f"list_{kind.value}s")
    def list_objects(
        state: State,
        paged: ObjectPages,
        enabled: Annotated[bool | None, Query(description="false: those that were taken out")] = None,
    ) -> PageOf[ConfigDocument]:
        """By slug."""
        found = [each for each in state.config.all() if each.kind is kind and enabled in (None, each.enabled)]
        return paged.answer(_page(found, paged.window()))

    @router.get("/{slug}", dependencies=[READS], responses=problems(404), operation_id=f"show_{kind.value}")
    def show_object(state: State, response: Response, slug: Slug) -> ConfigDocument:
        """`ETag` is what a change has to name in `If-Match`."""
        return _answered(response, state.config.find(kind, slug))


def _add_writing(router: APIRouter, kind: ConfigKind, path: str) -> None:
    @router.post(
        "",
        status_code=201,
        dependencies=[WRITES_CONFIG, REPEATABLE],
        responses=problems(409, 413),
        operation_id=f"create_{kind.value}",
    )
    def create_object(state: State, sender: Sender, response: Response, new: NewConfigObject) -> ConfigDocument:
        """Refused (422) where the configuration as a whole would not be valid with it."""
        made = state.config.create(kind, new.slug, new.body, actor=sender.name, at=clock.now())
        response.headers["Location"] = f"/api/v1/{path}/{made.slug}"
        return _answered(response, made)

    @router.patch("/{slug}", dependencies=[WRITES_CONFIG], responses=_CHANGE, operation_id=f"change_{kind.value}")
    def change_object(
        state: State, sender: Sender, response: Response, slug: Slug, version: MatchedVersion, patch: ConfigPatch
    ) -> ConfigDocument:
        """Needs `If-Match`. Objects of the file are refused with 409 `managed_by_file`."""
        before = _enabled(state.config.find(kind, slug))
        body = merged(before.body, patch.body)
        after = state.config.update(kind, slug, body, row_version=version, actor=sender.name, at=clock.now())
        return _answered(response, after)

    @router.delete("/{slug}", dependencies=[WRITES_CONFIG], responses=_CHANGE, operation_id=f"take_out_{kind.value}")
    def take_out_object(
        state: State, sender: Sender, response: Response, slug: Slug, version: MatchedVersion
    ) -> ConfigDocument:
        """Needs `If-Match`. The object is disabled; whatever was recorded stays."""
        _enabled(state.config.find(kind, slug))
        gone = state.config.disable(kind, slug, row_version=version, actor=sender.name, at=clock.now())
        return _answered(response, gone)


def _answered(response: Response, found: StoredObject) -> ConfigDocument:
    response.headers["ETag"] = etag(found.row_version)
    return ConfigDocument.model_validate(found)


def _enabled(found: StoredObject) -> StoredObject:
    if not found.enabled:
        raise NotFoundError(
            f"The {found.kind.value} '{found.slug}' was taken out of the configuration.", remedy="Create it anew."
        )
    return found


def _page(found: list[StoredObject], window: Window) -> Page[StoredObject]:
    """There are few enough objects to sort them here."""

    def place(each: StoredObject) -> tuple[Any, str]:
        return getattr(each, window.by or "slug"), each.slug

    later = sorted(found, key=place, reverse=not window.ascending)
    if window.after is not None:
        after = (window.after.key, str(window.after.id))
        later = [each for each in later if (place(each) > after if window.ascending else place(each) < after)]
    items = tuple(later[: window.limit])
    following = Position(*place(items[-1])) if len(later) > window.limit else None
    return Page(items, following, len(found) if window.counted else None)


def merged(body: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """RFC 7396: what the patch names is replaced, null removes, mappings are merged key by key."""
    result = dict(body)
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict):
            inner = result.get(key)
            result[key] = merged(inner if isinstance(inner, dict) else {}, value)
        else:
            result[key] = value
    return result

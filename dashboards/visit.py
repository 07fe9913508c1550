"""One request for a page: who makes it, what it asks, and how every one of them is answered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from dashboards.rendering import render
from monitor import clock
from monitor.access.actor import Actor, Via
from monitor.access.guard import require
from monitor.access.scope import Scope
from monitor.api.gate import credentials
from monitor.api.problem import Problem, problem_of
from monitor.api.shapes import is_text
from monitor.api.state import ApiState
from monitor.errors import ForbiddenError, NotFoundError, RequestError, UnauthorizedError
from monitor.redaction import redact_known
from monitor.store.pages_queries import PageQueries

_FORM_FIELDS = 20
PRIVATE = {"Cache-Control": "private, no-cache"}


@dataclass(frozen=True)
class Visit:
    """`form` holds the texts of a form that was sent; a file is none."""

    request: Request
    state: ApiState
    actor: Actor
    form: Mapping[str, str]
    now: datetime

    @property
    def queries(self) -> PageQueries:
        return PageQueries(self.state.store.sessions)

    @property
    def signed_in(self) -> bool:
        return self.actor.via is Via.SESSION

    @cached_property
    def csrf_token(self) -> str:
        """Of the session's forms; empty where there is no session."""
        return self.state.key.csrf_token(self.actor.session) if self.signed_in else ""

    def path(self, name: str) -> str:
        """A part of the address, such as an id."""
        return str(self.request.path_params[name])

    def asked(self, name: str) -> str:
        """A value of the query; empty where it is not there."""
        return self.request.query_params.get(name, "")

    def asked_number(self, name: str) -> int:
        """A whole number of the query; 0 where it is none."""
        text = self.asked(name)
        return int(text) if text.isascii() and text.isdigit() and len(text) < 7 else 0

    def page(
        self, template: str, status: int = 200, headers: Mapping[str, str] | None = None, **content: Any
    ) -> Response:
        shown = {
            "now": self.now,
            "path": self.request.url.path,
            "user": self.actor.name.removeprefix("user:") if self.signed_in else "",
            "csrf_token": self.csrf_token,
            "may_act": self.actor.may(Scope.ALERTS_WRITE),
            **content,
        }
        if self.actor.may(Scope.READ) and "alert_count" not in shown:
            shown["alert_count"] = self.queries.told_alerts()
        return Response(render(template, shown), status, {**PRIVATE, **(headers or {})}, "text/html; charset=utf-8")


View = Callable[[Visit], Response]


def answering(state: ApiState, view: View, needed: Scope | None) -> Callable[[Request], Any]:
    """The endpoint of a route: `view` for those who have the scope `needed` (None: for everybody)."""

    async def answer(request: Request) -> Response:
        form: dict[str, str] = {}
        if request.method == "POST":
            async with request.form(max_files=0, max_fields=_FORM_FIELDS) as sent:
                form = {name: value for name, value in sent.items() if isinstance(value, str)}
        return await run_in_threadpool(_answered, request, state, form, view, needed)

    return answer


def _answered(request: Request, state: ApiState, form: Mapping[str, str], view: View, needed: Scope | None) -> Response:
    try:
        _check_text(request, form)
        now = clock.now()
        actor = state.guard.actor(credentials(request), now)
        visit = Visit(request, state, actor, form, now)
        if needed is not None:
            require(actor, needed)
            _check_csrf(visit)
        return view(visit)
    except UnauthorizedError as error:
        return _to_sign_in(request) if needed is not None else refused(request, problem_of(error, _id(request)))
    except Exception as error:  # noqa: BLE001 - the boundary of a page: logged with its id, answered as a page
        return refused(request, problem_of(error, _id(request)))


def _check_text(request: Request, form: Mapping[str, str]) -> None:
    if not all(map(is_text, request.path_params.values())):
        raise NotFoundError("There is no such address.")
    if not all(map(is_text, form.values())):
        raise RequestError("The form holds a character that is no text.", remedy="Go back and take it out.")


def _check_csrf(visit: Visit) -> None:
    if visit.request.method != "POST" or not visit.signed_in:
        return
    if not visit.state.key.csrf_valid(visit.form.get("csrf_token", ""), visit.actor.session):
        raise ForbiddenError(
            "This form is too old, or was not made by this page.", remedy="Go back, reload, try again."
        )


def _to_sign_in(request: Request) -> Response:
    """Back to where the visitor wanted to go; a form that was sent is not sent again."""
    back = request.url.path if request.method == "GET" else "/"
    query = f"?{request.url.query}" if request.method == "GET" and request.url.query else ""
    return RedirectResponse(f"/sign-in?{urlencode({'next': back + query})}", 303, PRIVATE)


def refused(request: Request, problem: Problem) -> Response:
    """An error as a page."""
    shown = {
        "path": request.url.path,
        "status": problem.status,
        "detail": redact_known(problem.detail),
        "request_id": _id(request),
        "user": "",
        "csrf_token": "",
    }
    headers = {**problem.headers, **PRIVATE}
    return Response(render("refused.html", shown), problem.status, headers, "text/html; charset=utf-8")


def _id(request: Request) -> str:
    return str(request.scope.get("monitor.request_id", ""))

"""Signing in and out, and the first user."""

from __future__ import annotations

import secrets

from starlette.responses import RedirectResponse, Response

from dashboards.visit import PRIVATE, Visit
from monitor.access.sessions import NewSession, cookie_name, ended_cookie
from monitor.access.tokens import digest
from monitor.api.gate import credentials
from monitor.errors import ForbiddenError, RequestError, UsageError

# Ties a form to the browser that it was made for, before there is a session to tie it to.
_FORM_COOKIE = "monitor_form"


def sign_in_form(visit: Visit) -> Response:
    return _form(visit, "sign_in.html", back=local_path(visit.asked("next")))


def sign_in(visit: Visit) -> Response:
    back = local_path(visit.form.get("next", ""))
    _check_form(visit)
    name, password = visit.form.get("name", ""), visit.form.get("password", "")
    try:
        session = visit.state.guard.sign_in(name, password, credentials(visit.request).address, visit.now)
    except RequestError as error:
        return _form(visit, "sign_in.html", error=error, back=back)
    return _begun(visit, session, back)


def set_up_form(visit: Visit) -> Response:
    return _form(visit, "set_up.html", token=visit.asked("token"), done=visit.state.access.has_users())


def set_up(visit: Visit) -> Response:
    token = visit.form.get("token", "")
    _check_form(visit)
    try:
        if visit.form.get("password", "") != visit.form.get("again", ""):
            raise UsageError("The two passwords are not the same.", remedy="Type both again.")
        session = visit.state.guard.set_up(token, visit.form.get("name", ""), visit.form["password"], visit.now)
    except (UsageError, RequestError) as error:
        return _form(visit, "set_up.html", error=error, token=token, done=visit.state.access.has_users())
    return _begun(visit, session, "/")


def sign_out(visit: Visit) -> Response:
    """The session ends on the server too, so that a copy of the cookie is worth nothing."""
    given = credentials(visit.request)
    visit.state.guard.sign_out(given.cookies.get(cookie_name(secure=given.secure), ""))
    headers = {**PRIVATE, "Set-Cookie": ended_cookie(secure=given.secure)}
    return RedirectResponse("/sign-in", 303, headers)


def local_path(text: str) -> str:
    """`text` where it is a path on this site, else the overview: nobody is sent elsewhere from here."""
    local = text.startswith("/") and not text.startswith(("//", "/\\")) and text.isprintable()
    return text if local else "/"


def _begun(visit: Visit, session: NewSession, back: str) -> Response:
    secure = credentials(visit.request).secure
    return RedirectResponse(back, 303, {**PRIVATE, "Set-Cookie": session.cookie(secure=secure)})


def _form(
    visit: Visit, template: str, *, error: UsageError | RequestError | None = None, **content: object
) -> Response:
    """`error` is what was wrong with what was sent."""
    value = secrets.token_urlsafe(24)
    status = 200 if error is None else error.status
    told = error.headers if isinstance(error, RequestError) else {}
    cookie = f"{_FORM_COOKIE}={value}; Path=/; HttpOnly; SameSite=Strict"
    headers = {**told, "Set-Cookie": cookie + ("; Secure" if credentials(visit.request).secure else "")}
    shown = {**content, "error": "" if error is None else str(error)}
    return visit.page(template, status, headers, form_token=visit.state.key.csrf_token(digest(value)), **shown)


def _check_form(visit: Visit) -> None:
    value = visit.request.cookies.get(_FORM_COOKIE, "")
    if not visit.state.key.csrf_valid(visit.form.get("form_token", ""), digest(value)):
        raise ForbiddenError(
            "This form is too old, or was not made by this page.", remedy="Go back, reload, try again."
        )

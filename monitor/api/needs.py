"""What a route asks of its sender, and the errors that every route of its kind may give."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, Header, Request

from monitor.access.actor import Actor
from monitor.access.guard import require
from monitor.access.scope import Scope
from monitor.api.problem import MEDIA_TYPE
from monitor.api.state import ApiState, actor_of, state_of

State = Annotated[ApiState, Depends(state_of)]
Sender = Annotated[Actor, Depends(actor_of)]

_MEANINGS = {
    400: "The request cannot be read.",
    401: "A token is needed, or this one is not good.",
    403: "The token lacks the scope.",
    404: "There is no such thing.",
    409: "The state of the object does not allow it.",
    412: "The object was changed since.",
    413: "The body is too large.",
    421: "Without a user, only localhost is answered.",
    422: "A value of the request cannot be used.",
    428: "If-Match is missing.",
    429: "Too many attempts; Retry-After says when to come back.",
    500: "The service failed.",
    502: "The provider cannot be asked.",
    503: "The database cannot be used.",
}
_ALWAYS = (400, 401, 403, 421, 422, 429, 500, 503)
_PROBLEM = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}


def needs(scope: Scope) -> Any:
    """The dependency that lets only senders with `scope` pass."""

    def check(request: Request) -> None:
        require(actor_of(request), scope)

    return Depends(check)


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The errors of a route for its OpenAPI entry: those that any may give, and `statuses`."""
    return {status: {"description": _MEANINGS[status], "content": _PROBLEM} for status in sorted({*_ALWAYS, *statuses})}


def _idempotency_key(
    idempotency_key: Annotated[
        str | None,
        Header(
            pattern=r"^[\x21-\x7e]{1,256}$",
            description="The same key and body again within 24 hours give the same answer and do nothing.",
        ),
    ] = None,
) -> str | None:
    return idempotency_key


# The gate answers repeated requests; routes that take a key say so through this.
REPEATABLE: Any = Depends(_idempotency_key)

READS = needs(Scope.READ)
WRITES_RUNS = needs(Scope.RUNS_WRITE)
WRITES_ALERTS = needs(Scope.ALERTS_WRITE)
WRITES_CONFIG = needs(Scope.CONFIG_WRITE)
ADMINISTERS = needs(Scope.ADMIN)

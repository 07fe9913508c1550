"""API tokens and the audit log: for administrators."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Response
from pydantic import Field

from monitor import clock
from monitor.access.scope import Scope
from monitor.access.tokens import Token
from monitor.api.needs import ADMINISTERS, Sender, State, problems
from monitor.api.paging import PageOf, PageRequest, sorted_by
from monitor.api.shapes import Given, Instant, Shape, ShortText, TokenId
from monitor.errors import ConflictError, Finding, NotFoundError, RequestError
from monitor.store.access import NewToken, TokenRecord

router = APIRouter(tags=["access"])

TokenPages = Annotated[PageRequest, sorted_by("-created_at", "name")]
AuditPages = Annotated[PageRequest, sorted_by("-at")]


class TokenDocument(Shape):
    id: str
    name: str
    scopes: list[Scope]
    created_by: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    used_at: datetime | None


class MadeToken(TokenDocument):
    token: str = Field(description="shown this once; only a digest of it is stored")


class WantedToken(Given):
    name: ShortText
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=len(Scope))]
    expires_at: Instant | None = None


class AuditDocument(Shape):
    id: int
    at: datetime
    actor: str
    action: str
    object: str
    detail: dict[str, Any]


@router.post("/tokens", status_code=201, dependencies=[ADMINISTERS], responses=problems(413))
def create_token(state: State, sender: Sender, response: Response, wanted: WantedToken) -> MadeToken:
    """Make a token. Its text is in this answer and nowhere else, which is why an Idempotency-Key has no effect here."""
    at = clock.now()
    if wanted.expires_at is not None and wanted.expires_at <= at:
        raise RequestError(
            "The token would have expired already.", findings=[Finding("/body/expires_at", "past", "is in the past")]
        )
    token = Token.new(at)
    scopes = tuple(dict.fromkeys(scope.value for scope in wanted.scopes))
    new = NewToken(token.id, wanted.name, token.digest, scopes, sender.name, wanted.expires_at)
    record = state.access.create_token(new, at)
    response.headers["Cache-Control"] = "no-store"
    response.headers["Location"] = f"/api/v1/tokens/{token.id}"
    return MadeToken(**TokenDocument.model_validate(record).model_dump(), token=token.text)


@router.get("/tokens", dependencies=[ADMINISTERS], responses=problems())
def list_tokens(state: State, paged: TokenPages) -> PageOf[TokenDocument]:
    """Every token that was ever made, the newest first; never their texts."""
    return paged.answer(state.access.tokens(paged.window()))


@router.get("/tokens/{token_id}", dependencies=[ADMINISTERS], responses=problems(404))
def show_token(state: State, token_id: TokenId) -> TokenDocument:
    return TokenDocument.model_validate(_existing(state.access.token(token_id), token_id))


@router.post("/tokens/{token_id}/revoke", dependencies=[ADMINISTERS], responses=problems(404, 409))
def revoke_token(state: State, sender: Sender, token_id: TokenId) -> TokenDocument:
    """From now on the token is refused."""
    _existing(state.access.token(token_id), token_id)
    if not state.access.revoke_token(token_id, actor=sender.name, at=clock.now()):
        raise ConflictError(f"Token {token_id} was revoked already.")
    return TokenDocument.model_validate(state.access.token(token_id))


@router.get("/audit", dependencies=[ADMINISTERS], responses=problems())
def list_audit(state: State, paged: AuditPages) -> PageOf[AuditDocument]:
    """Who changed what, the latest first."""
    return paged.answer(state.access.audit_entries(paged.window()))


def _existing(found: TokenRecord | None, token_id: str) -> TokenRecord:
    if found is None:
        raise NotFoundError(f"There is no token {token_id}.", remedy="GET /api/v1/tokens lists them.")
    return found

"""`monitor token`: make, list and revoke the tokens that programs use the API with."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Annotated, Any

import typer

from monitor import clock
from monitor.access.names import checked_name
from monitor.access.scope import Scope
from monitor.access.tokens import Token
from monitor.cli.access_store import opened_access, this_person
from monitor.cli.output import print_json, print_message, print_table
from monitor.errors import UsageError
from monitor.store.access import NewToken, TokenRecord
from monitor.store.keyset import Window

LIST_SCHEMA = "monitor.tokens/1"
MADE_SCHEMA = "monitor.token/1"
MOST_TOKENS = 10_000

_PERIOD = re.compile(r"(\d{1,5})\s*(h|d|w)")
_UNITS = {"h": "hours", "d": "days", "w": "weeks"}

app = typer.Typer(no_args_is_help=True, help="Make, list and revoke API tokens.")

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="What the token is for.")],
    scope: Annotated[
        list[Scope] | None, typer.Option(help="What it may do; may be given several times. Default: read.")
    ] = None,
    expires: Annotated[str | None, typer.Option(help="After how long it ends: 12h, 90d, 52w; default: never.")] = None,
    as_json: AsJson = False,
) -> None:
    """Make a token and print it. It is shown this once; only a digest of it is stored."""
    at = clock.now()
    token = Token.new(at)
    scopes = tuple(dict.fromkeys(each.value for each in scope or [Scope.READ]))
    new = NewToken(token.id, checked_name(name), token.digest, scopes, this_person(), _end(expires, at))
    with opened_access() as access:
        record = access.create_token(new, at)
    if as_json:
        print_json({"schema": MADE_SCHEMA, **_item(record, at), "token": token.text})
        return
    typer.echo(token.text)
    print_message(f"{record.id} may {', '.join(record.scopes)}. It is not shown again.")


@app.command("list")
def list_tokens(as_json: AsJson = False) -> None:
    """List all tokens, never their texts."""
    with opened_access() as access:
        found = access.tokens(Window(MOST_TOKENS)).items
    at = clock.now()
    if as_json:
        print_json({"schema": LIST_SCHEMA, "tokens": [_item(record, at) for record in found]})
    elif found:
        columns = ("id", "name", "scopes", "state", "made (UTC)", "last used (UTC)")
        print_table(columns, [_row(record, at) for record in found])
    else:
        print_message("No tokens yet. `monitor token create NAME` makes one.")


@app.command()
def revoke(token_id: Annotated[str, typer.Argument(help="The token's id, tok_…, or the token itself.")]) -> None:
    """Refuse a token from now on."""
    token = Token.parse(token_id)
    known = token_id if token is None else token.id
    with opened_access() as access:
        if access.token(known) is None:
            raise UsageError("There is no such token.", remedy="`monitor token list` shows their ids.")
        revoked = access.revoke_token(known, actor=this_person(), at=clock.now())
    print_message(f"{known} is revoked." if revoked else f"{known} was revoked already.")


def _end(text: str | None, at: datetime) -> datetime | None:
    if text is None:
        return None
    match = _PERIOD.fullmatch(text.strip())
    if match is None or not int(match[1]):
        raise UsageError(f"--expires '{text}' is not a time.", remedy="Give 12h, 90d or 52w.")
    return at + timedelta(**{_UNITS[match[2]]: int(match[1])})


def _state(record: TokenRecord, at: datetime) -> str:
    if record.revoked_at is not None:
        return "revoked"
    return "valid" if record.valid(at) else "expired"


def _row(record: TokenRecord, at: datetime) -> tuple[str, ...]:
    used = "never" if record.used_at is None else record.used_at.strftime("%Y-%m-%d %H:%M")
    made = record.created_at.strftime("%Y-%m-%d %H:%M")
    return (record.id, record.name, ", ".join(record.scopes), _state(record, at), made, used)


def _item(record: TokenRecord, at: datetime) -> dict[str, Any]:
    return {
        "id": record.id,
        "name": record.name,
        "scopes": list(record.scopes),
        "state": _state(record, at),
        "created_by": record.created_by,
        "created_at": record.created_at.isoformat(),
        "expires_at": None if record.expires_at is None else record.expires_at.isoformat(),
        "used_at": None if record.used_at is None else record.used_at.isoformat(),
    }

"""`monitor user`: the people who may sign in to the pages."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from monitor import clock
from monitor.access.names import checked_name
from monitor.access.passwords import hash_password
from monitor.cli.access_store import opened_access, this_person
from monitor.cli.output import print_json, print_message, print_table
from monitor.errors import UsageError
from monitor.store.vocabulary import Role

LIST_SCHEMA = "monitor.users/1"

app = typer.Typer(no_args_is_help=True, help="Create, disable and list the people who may sign in.")

_Name = Annotated[str, typer.Argument(help="The name to sign in with.")]
_PasswordStdin = Annotated[
    bool, typer.Option("--password-stdin", help="Read the password from standard input, not from the terminal.")
]


@app.command()
def create(
    name: _Name,
    role: Annotated[
        Role, typer.Option(help="viewer: look; operator: also run, acknowledge, silence; admin: everything.")
    ] = Role.ADMIN,
    password_stdin: _PasswordStdin = False,
) -> None:
    """Create a user. From the first one on, nothing is open to those who are not signed in."""
    known = checked_name(name)
    hashed = hash_password(_password(from_stdin=password_stdin))
    with opened_access() as access:
        made = access.create_user(known, role, hashed, actor=this_person(), at=clock.now())
    print_message(f"{made.name} may sign in as {made.role.value}.")


@app.command("list")
def list_users(as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False) -> None:
    """List all users."""
    with opened_access() as access:
        found = access.users()
    if as_json:
        items = [
            {
                "id": user.id,
                "name": user.name,
                "role": user.role.value,
                "created_at": user.created_at.isoformat(),
                "disabled": user.disabled_at is not None,
            }
            for user in found
        ]
        print_json({"schema": LIST_SCHEMA, "users": items})
    elif found:
        rows = [
            (
                user.name,
                user.role.value,
                user.created_at.strftime("%Y-%m-%d %H:%M"),
                "enabled" if user.disabled_at is None else "disabled",
            )
            for user in found
        ]
        print_table(("name", "role", "created (UTC)", "state"), rows)
    else:
        print_message("No users yet: whoever reaches this machine's loopback address may look.")


@app.command()
def disable(name: _Name) -> None:
    """Let a user sign in no more, and end all sessions of that user. The last admin stays."""
    with opened_access() as access:
        access.disable_user(name.strip(), actor=this_person(), at=clock.now())
    print_message(f"{name.strip()} may not sign in. Tokens stay good until they are revoked: `monitor token list`.")


@app.command()
def enable(name: _Name) -> None:
    """Let a user who was disabled sign in again."""
    with opened_access() as access:
        made = access.enable_user(name.strip(), actor=this_person(), at=clock.now())
    print_message(f"{made.name} may sign in as {made.role.value}.")


@app.command()
def password(name: _Name, password_stdin: _PasswordStdin = False) -> None:
    """Give a user another password, and end all sessions of that user."""
    hashed = hash_password(_password(from_stdin=password_stdin))
    with opened_access() as access:
        access.change_password(name.strip(), hashed, actor=this_person(), at=clock.now())
    print_message(f"{name.strip()} has a new password.")


def _password(*, from_stdin: bool) -> str:
    if from_stdin:
        return sys.stdin.readline().rstrip("\r\n")
    if not sys.stdin.isatty():
        raise UsageError("There is no terminal to ask for the password.", remedy="Send it with --password-stdin.")
    return str(typer.prompt("Password", hide_input=True, confirmation_prompt=True))

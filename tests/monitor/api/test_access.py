"""Who may do what: nobody, tokens of each scope, signed-in people, and the first user."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from monitor import clock
from monitor.access.guard import Guard
from monitor.access.passwords import hash_password
from monitor.access.sessions import cookie_name
from monitor.access.tokens import digest
from monitor.errors import ForbiddenError, TooManyAttemptsError, UnauthorizedError, UsageError
from monitor.store import EndpointRecord
from monitor.store.keyset import Window
from monitor.store.vocabulary import Role
from tests.monitor.api.served import NOW, PASSWORD, Api, assert_problem

READ, RUN, SILENCE = "/api/v1/runs", "/api/v1/checks", "/api/v1/silences"


def test_without_a_user_whoever_is_here_may_read_and_not_write(api: Api, endpoint: EndpointRecord) -> None:
    client = api.anonymous
    assert client.get(READ).status_code == 200
    assert_problem(client.post(RUN, json={"endpoint_id": endpoint.id}), 401, "unauthorized")


def test_the_first_user_closes_what_was_open(api: Api) -> None:
    api.add_user()
    assert_problem(api.anonymous.get(READ), 401, "unauthorized")
    assert api.anonymous.get("/api/v1/status").status_code == 200
    assert api.as_("read").get(READ, headers={"Host": "monitor.example"}).status_code == 200


@pytest.mark.parametrize(
    ("scope", "allowed"),
    [
        ("read", {READ}),
        ("runs:write", {READ, RUN}),
        ("alerts:write", {READ, SILENCE}),
        ("config:write", {READ, "/api/v1/models"}),
        ("admin", {READ, RUN, SILENCE, "/api/v1/models", "/api/v1/audit"}),
    ],
)
def test_a_token_may_do_what_its_scope_says(api: Api, endpoint: EndpointRecord, scope: str, allowed: set[str]) -> None:
    client = api.as_(scope)
    ends_at = (clock.now() + timedelta(hours=1)).isoformat()
    answers = {
        READ: client.get(READ),
        RUN: client.post(RUN, json={"endpoint_id": endpoint.id}),
        SILENCE: client.post(SILENCE, json={"matchers": {"provider": "acme"}, "ends_at": ends_at, "comment": "x"}),
        "/api/v1/models": client.post("/api/v1/models", json={"slug": "m", "body": {}}),
        "/api/v1/audit": client.get("/api/v1/audit"),
    }
    assert {path for path, answer in answers.items() if answer.status_code < 300} == allowed
    assert {answer.status_code for path, answer in answers.items() if path not in allowed} <= {403}


def test_a_token_that_has_expired_or_was_revoked_is_refused(api: Api) -> None:
    expired = api.token("read", expires_at=NOW - timedelta(days=400))
    made = api.admin.post("/api/v1/tokens", json={"name": "ci", "scopes": ["read"]}).json()
    client = api.anonymous
    assert client.get(READ, headers={"Authorization": f"Bearer {made['token']}"}).status_code == 200
    assert api.admin.post(f"/api/v1/tokens/{made['id']}/revoke").json()["revoked_at"] is not None

    for token in (expired, made["token"]):
        assert_problem(client.get(READ, headers={"Authorization": f"Bearer {token}"}), 401, "unauthorized")
    assert_problem(api.admin.post(f"/api/v1/tokens/{made['id']}/revoke"), 409, "conflict")


def test_the_text_of_a_token_is_shown_once_and_stored_nowhere(api: Api, tmp_path: Path) -> None:
    client = api.admin
    headers = {"Idempotency-Key": "make-one"}
    made = client.post("/api/v1/tokens", json={"name": "ci", "scopes": ["read"]}, headers=headers)
    secret = made.json()["token"].rsplit("_", 1)[1]

    assert made.headers["cache-control"] == "no-store"
    assert secret not in client.get("/api/v1/tokens").text + client.get("/api/v1/audit").text
    with closing(sqlite3.connect(tmp_path / "monitor.db")) as database:
        assert secret not in "\n".join(database.iterdump())


def test_a_token_in_the_address_is_no_token(api: Api) -> None:
    api.add_user()
    assert_problem(api.anonymous.get(f"{READ}?access_token={api.token('read')}"), 401, "unauthorized")


def test_the_last_use_of_a_token_is_noted(api: Api) -> None:
    api.as_("read").get(READ)
    used = [token["used_at"] for token in api.admin.get("/api/v1/tokens").json()["items"]]
    assert sum(each is not None for each in used) == 2


def signed_in(api: Api, role: Role) -> dict[str, str]:
    """The headers a browser sends."""
    api.add_user("bob", role)
    session = api.state.guard.sign_in("bob", PASSWORD, "127.0.0.1", clock.now())
    return {"Cookie": f"{cookie_name(secure=False)}={session.value}"}


def test_a_session_reads_and_writes_only_with_its_csrf_token(api: Api, endpoint: EndpointRecord) -> None:
    browser = signed_in(api, Role.OPERATOR)
    client = api.anonymous
    wanted = {"endpoint_id": endpoint.id}
    assert client.get(READ, headers=browser).status_code == 200
    assert_problem(client.post(RUN, json=wanted, headers=browser), 403, "forbidden")

    session = api.state.guard.sign_in("bob", PASSWORD, "127.0.0.1", clock.now())
    others = api.state.key.csrf_token(session.digest)
    assert_problem(client.post(RUN, json=wanted, headers={**browser, "X-CSRF-Token": others}), 403, "forbidden")

    value = browser["Cookie"].split("=")[1]
    own = api.state.key.csrf_token(digest(value))
    assert client.post(RUN, json=wanted, headers={**browser, "X-CSRF-Token": own}).status_code == 202


def test_a_viewer_may_look_and_nothing_else(api: Api, endpoint: EndpointRecord) -> None:
    browser = signed_in(api, Role.VIEWER)
    own = api.state.key.csrf_token(digest(browser["Cookie"].split("=")[1]))
    client = api.anonymous
    assert client.get(READ, headers=browser).status_code == 200
    answer = client.post(RUN, json={"endpoint_id": endpoint.id}, headers={**browser, "X-CSRF-Token": own})
    assert_problem(answer, 403, "forbidden")


def test_who_signs_out_is_a_stranger(api: Api) -> None:
    browser = signed_in(api, Role.ADMIN)
    api.state.guard.sign_out(browser["Cookie"].split("=")[1])
    assert_problem(api.anonymous.get(READ, headers=browser), 401, "unauthorized")


def test_guessing_passwords_is_slowed_down_by_name_and_by_address(api: Api) -> None:
    api.add_user()
    guard = api.state.guard
    for address in ("one", "two"):
        for number in range(5):
            with pytest.raises(UnauthorizedError):
                guard.sign_in("alice", f"guess {number}", address, NOW)
    with pytest.raises(TooManyAttemptsError):
        guard.sign_in("alice", PASSWORD, "three", NOW)
    assert guard.sign_in("alice", PASSWORD, "three", NOW + timedelta(minutes=1))


def test_right_passwords_are_not_counted(api: Api) -> None:
    api.add_user()
    for _ in range(11):
        assert api.state.guard.sign_in("alice", PASSWORD, "one", NOW)


def test_who_is_disabled_is_out_at_once_and_gets_in_no_more(each_api: Api) -> None:
    browser, access = signed_in(each_api, Role.ADMIN), each_api.state.access
    each_api.add_user("alice")
    access.disable_user("bob", actor="test", at=NOW)

    assert_problem(each_api.anonymous.get(READ, headers=browser), 401, "unauthorized")
    with pytest.raises(UnauthorizedError):
        each_api.state.guard.sign_in("bob", PASSWORD, "one", NOW)
    access.enable_user("bob", actor="test", at=NOW)
    assert_problem(each_api.anonymous.get(READ, headers=browser), 401, "unauthorized")
    assert each_api.state.guard.sign_in("bob", PASSWORD, "one", NOW)
    actions = [entry.action for entry in access.audit_entries(Window(2)).items]
    assert sorted(actions) == ["user.disable", "user.enable"]


def test_the_last_admin_stays_also_where_two_disable_each_other(each_api: Api) -> None:
    access, names = each_api.state.access, ("alice", "bob")
    for name in names:
        each_api.add_user(name)
    each_api.add_user("vera", Role.VIEWER)

    def disable(name: str) -> bool:
        try:
            return access.disable_user(name, actor="test", at=NOW).disabled_at == NOW
        except UsageError:
            return False

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(disable, names)) == [False, True]
    assert disable("vera")
    assert [user.role for user in access.users() if user.disabled_at is None] == [Role.ADMIN]


def test_a_new_password_ends_the_sessions_of_the_old_one(api: Api) -> None:
    browser = signed_in(api, Role.ADMIN)
    api.state.access.change_password("bob", hash_password("another password"), actor="test", at=NOW)
    assert_problem(api.anonymous.get(READ, headers=browser), 401, "unauthorized")
    with pytest.raises(UnauthorizedError):
        api.state.guard.sign_in("bob", PASSWORD, "one", NOW)
    assert api.state.guard.sign_in("bob", "another password", "one", NOW)


def test_a_name_that_does_not_exist_is_told_like_a_wrong_password(api: Api) -> None:
    api.add_user()
    told = []
    for name in ("alice", "nobody"):
        with pytest.raises(UnauthorizedError) as caught:
            api.state.guard.sign_in(name, "wrong password", "one", NOW)
        told.append(str(caught.value))
    assert told[0] == told[1]


def test_the_set_up_link_makes_one_admin_once(api: Api) -> None:
    guard: Guard = api.state.guard
    link = api.state.key.set_up_token()
    with pytest.raises(ForbiddenError):
        guard.set_up("forged", "alice", PASSWORD, clock.now())
    with pytest.raises(UsageError):
        guard.set_up(link, "alice", "short", clock.now())

    assert guard.set_up(link, "alice", PASSWORD, clock.now())
    assert [(user.name, user.role) for user in api.state.access.users()] == [("alice", Role.ADMIN)]
    with pytest.raises(ForbiddenError):
        guard.set_up(link, "mallory", PASSWORD, clock.now())

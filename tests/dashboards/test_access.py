"""Signing in and out, the first user, and what every answer tells the browser."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dashboards.headers import POLICY
from monitor import clock
from monitor.access.guard import ATTEMPTS_AT_ONCE
from monitor.store.vocabulary import Role
from tests.dashboards.visitor import PASSWORD, Visitors


def test_the_first_user_is_made_by_the_link_and_closes_the_door(empty: Visitors) -> None:
    visitor = empty.stranger
    visitor.get(f"/setup?token={empty.state.key.set_up_token()}")

    page = visitor.send("/setup", name="alice", password=PASSWORD, again=PASSWORD)

    assert visitor.response.url.path == "/"
    assert page.one(class_="who").text.startswith("alice")
    other = empty.stranger
    other.get("/")
    assert other.response.url.path == "/sign-in"


@pytest.mark.parametrize(
    ("password", "again", "wrong"),
    [("short", "short", "5 characters"), (PASSWORD, "another one!", "not the same")],
)
def test_a_first_user_with_a_bad_password_may_try_again(empty: Visitors, password: str, again: str, wrong: str) -> None:
    visitor = empty.stranger
    visitor.get(f"/setup?token={empty.state.key.set_up_token()}")
    page = visitor.send("/setup", name="alice", password=password, again=again)
    assert visitor.response.status_code == 400
    assert wrong in page.one(class_="wrong").text
    visitor.send("/setup", name="alice", password=PASSWORD, again=PASSWORD)
    assert visitor.response.url.path == "/"


def test_a_forged_link_makes_no_user(empty: Visitors) -> None:
    visitor = empty.stranger
    visitor.get("/setup?token=forged")
    visitor.send("/setup", name="mallory", password=PASSWORD, again=PASSWORD)
    assert visitor.response.status_code == 403
    assert not empty.state.access.has_users()


def test_the_link_is_of_no_use_once_there_is_a_user(empty: Visitors) -> None:
    empty.add("alice", Role.ADMIN)
    page = empty.stranger.get(f"/setup?token={empty.state.key.set_up_token()}")
    assert "There is a user already." in page.text
    assert page.one("main").all("form") == []


def test_a_wrong_password_and_an_unknown_name_are_answered_alike(empty: Visitors) -> None:
    empty.add("alice", Role.ADMIN)
    answers = []
    for name in ("alice", "nobody"):
        visitor = empty.stranger
        visitor.get("/sign-in")
        page = visitor.send("/sign-in", name=name, password="wrong")  # pragma: allowlist secret
        answers.append(page.one(class_="wrong").text)
        assert visitor.response.status_code == 401
    assert answers[0] == answers[1]


@pytest.mark.parametrize("path", ["/alerts/%00", "/endpoints/%00", "/endpoints/%00/series/fidelity", "/static/%00"])
def test_an_address_that_no_database_takes_is_not_there(on_postgres: Visitors, path: str) -> None:
    visitor = on_postgres.stranger
    assert visitor.get(path).one("h1").text
    assert visitor.response.status_code == 404


def test_a_name_that_no_database_takes_is_refused(on_postgres: Visitors) -> None:
    visitor = on_postgres.stranger
    visitor.get("/sign-in")
    visitor.send("/sign-in", name="al\0ice", password=PASSWORD)
    assert visitor.response.status_code == 422


def test_guessing_is_slowed_down_until_the_time_that_is_told(empty: Visitors, monkeypatch: pytest.MonkeyPatch) -> None:
    empty.add("alice", Role.ADMIN)
    visitor = empty.stranger
    begin = clock.now()
    monkeypatch.setattr(clock, "now", lambda: begin)

    def guess() -> int:
        visitor.get("/sign-in")
        visitor.send("/sign-in", name="alice", password="wrong password")  # pragma: allowlist secret
        return int(visitor.response.status_code)

    allowed = [guess() for _ in range(round(ATTEMPTS_AT_ONCE))]
    assert 429 not in allowed
    assert guess() == 429
    wait = timedelta(seconds=int(visitor.response.headers["retry-after"]))
    monkeypatch.setattr(clock, "now", lambda: begin + wait)
    assert guess() in allowed


def test_one_comes_back_to_where_one_wanted_to_go(empty: Visitors) -> None:
    empty.add("alice", Role.ADMIN)
    visitor = empty.stranger
    visitor.get("/alerts?show=all")
    assert visitor.response.url.path == "/sign-in"
    visitor.send("/sign-in", name="alice", password=PASSWORD)
    assert visitor.response.url.raw_path == b"/alerts?show=all"


@pytest.mark.parametrize("elsewhere", ["https://evil.test/", "//evil.test/", "/\\evil.test", "/\r\nSet-Cookie: a=b"])
def test_nobody_is_sent_elsewhere(empty: Visitors, elsewhere: str) -> None:
    empty.add("alice", Role.ADMIN)
    visitor = empty.stranger
    visitor.client.follow_redirects = False
    visitor.get("/sign-in")
    visitor.send("/sign-in", name="alice", password=PASSWORD, next=elsewhere)
    assert visitor.response.status_code == 303
    assert visitor.response.headers["location"] == "/"


def test_a_sign_in_that_was_sent_from_elsewhere_is_refused(empty: Visitors) -> None:
    empty.add("alice", Role.ADMIN)
    lured = empty.stranger
    token = empty.stranger.get("/sign-in").one("input", name="form_token").attributes["value"]
    lured.post("/sign-in", name="alice", password=PASSWORD, form_token=token)
    assert lured.response.status_code == 403
    assert "monitor_session" not in lured.client.cookies


def test_who_signs_out_is_out_also_with_the_old_cookie(empty: Visitors) -> None:
    visitor = empty.as_(Role.ADMIN)
    cookie = visitor.client.cookies["monitor_session"]
    visitor.send("/sign-out")
    assert visitor.response.url.path == "/sign-in"
    assert "monitor_session" not in visitor.client.cookies
    visitor.client.cookies.set("monitor_session", cookie)
    visitor.get("/")
    assert visitor.response.url.path == "/sign-in"


def test_the_cookie_is_kept_from_scripts_and_other_sites(empty: Visitors) -> None:
    empty.add("alice", Role.ADMIN)
    visitor = empty.stranger
    visitor.client.follow_redirects = False
    visitor.get("/sign-in")
    visitor.send("/sign-in", name="alice", password=PASSWORD)
    cookie = visitor.response.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=Lax", "Path=/"} <= set(cookie.split("; "))


@pytest.mark.parametrize("path", ["/", "/alerts", "/sign-in", "/setup", "/nothing", "/static/site.css", "/static/no"])
def test_every_answer_forbids_what_pages_do_not_need(empty: Visitors, path: str) -> None:
    headers = empty.stranger.client.get(path).headers
    assert headers["content-security-policy"] == POLICY
    assert "unsafe" not in POLICY
    assert headers["x-frame-options"] == "DENY"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"


def test_another_host_is_refused_while_there_is_no_user(empty: Visitors) -> None:
    response = empty.stranger.client.get("/", headers={"Host": "rebound.example"})
    assert response.status_code == 421
    assert "Another address" in response.text


def test_machines_get_problems_and_people_get_pages(empty: Visitors) -> None:
    client = empty.stranger.client
    assert client.get("/api/v1/nothing").headers["content-type"] == "application/problem+json"
    assert client.get("/openapi.json").json()["openapi"] == "3.1.0"
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/apiary").headers["content-type"].startswith("text/html")
    assert client.post("/").headers["content-type"].startswith("text/html")


def test_a_form_that_is_too_large_is_refused_as_a_page(empty: Visitors) -> None:
    visitor = empty.stranger
    visitor.get("/sign-in")
    page = visitor.send("/sign-in", name="x" * 70_000, password=PASSWORD)
    assert visitor.response.status_code == 413
    assert page.one("h1").text == "Too much"

"""The alerts' pages: what fired, why, who was told; and what people decide, each as far as his role goes."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

import pytest

from dashboards.views import alerts
from monitor.store.alert_records import AlertFilter, AlertRecord
from monitor.store.keyset import Window
from monitor.store.vocabulary import AlertState, Role
from tests.dashboards.material import HOSTILE, Installation
from tests.dashboards.pages import cells
from tests.dashboards.visitor import Visitors


def alert_of(installation: Installation, story: str) -> AlertRecord:
    found = installation.alerts.list(Window(1), AlertFilter(endpoint_id=installation.endpoints[story].id))
    return found.items[0]


def test_open_alerts_are_listed_with_what_was_found(installation: Installation, visitors: Visitors) -> None:
    rows = cells(visitors.stranger.get("/alerts").one("table"))
    assert [row[0] for row in rows] == ["? no data", "P pending", "E error", "D firing"]
    assert rows[3][1:3] == ["critical", "acme / lark-30b"]
    assert rows[3][3].startswith("logprobs moved by 0.6")
    assert rows[0][5] == "held back: another alert explains it"
    assert rows[1][2].startswith(HOSTILE[:60])


def test_the_list_leads_from_page_to_page_and_takes_no_other_cursor(
    visitors: Visitors, monkeypatch: pytest.MonkeyPatch
) -> None:
    visitor = visitors.stranger
    assert visitor.get("/alerts?show=resolved").one(class_="empty").text == "No alert was ever resolved."
    assert len(cells(visitor.get("/alerts?show=all").one("table"))) == 4
    monkeypatch.setattr(alerts, "_PAGE", 3)
    first = visitor.get("/alerts")
    older = first.one("a", rel="next").attributes["href"]
    second = visitor.get(older)
    assert [len(cells(page.one("table"))) for page in (first, second)] == [3, 1]
    assert second.all("a", rel="next") == []

    ours = parse_qs(urlsplit(older).query)["after"][0]
    client = visitor.client
    theirs = client.get("/api/v1/alerts?limit=1").json()["next_cursor"]
    for foreign in (theirs, "forged", ours[:-1]):
        assert client.get("/alerts", params={"after": foreign}).status_code == 400
    assert client.get("/api/v1/alerts", params={"cursor": ours}).status_code == 400


@pytest.mark.parametrize("text", ["they\0know", "\0"])
def test_a_comment_that_no_database_takes_is_refused(installation: Installation, visitors: Visitors, text: str) -> None:
    visitor, alert = visitors.as_(Role.OPERATOR), alert_of(installation, "drifting")
    visitor.get(f"/alerts/{alert.id}")
    visitor.send(f"/alerts/{alert.id}/comment", text=text)
    assert visitor.response.status_code == 422


def test_an_alert_says_why_it_fired_with_numbers_threshold_and_runs(
    installation: Installation, visitors: Visitors
) -> None:
    page = visitors.stranger.get(f"/alerts/{alert_of(installation, 'drifting').id}")
    why = page.one("section", aria_labelledby="why")
    assert "2 checks, each on prompts of its own, found that logprobs has moved." in why.text
    assert "p ≤ 0.0001" in why.text
    assert "beyond the lawful 0.010 nat" in why.text
    first, second = cells(why.one("table"))
    assert "run_" in first[0]
    assert [first[1], second[1]] == ["schedule", "confirm"]
    assert first[2] == second[2] == "D drift"
    assert first[4:] == ["–", "–", "4e-06", "20"]
    assert re.fullmatch(r"0\.6\d\d nat \[0\.\d{3}, 0\.\d{3}\]", first[3])
    why = r"not measured: its prompts are new and have no earlier answers; from the reference: 0\.\d{3} nat \[.*\]"
    assert re.fullmatch(why, second[3])


def test_an_alert_shows_what_happened_and_who_was_told(installation: Installation, visitors: Visitors) -> None:
    page = visitors.stranger.get(f"/alerts/{alert_of(installation, 'drifting').id}")
    opened, fired = [one.text for one in page.one(class_="timeline").all("li")]
    assert "opened" in opened
    assert "fired" in fired
    assert fired.endswith("notice")
    told = {row[1]: row for row in cells(page.one("section", aria_labelledby="notices").one("table"))}
    assert told["ops"][2:5] == ["alert.firing", "delivered", "1"]
    assert told["broken"][3] == "pending"
    assert HOSTILE in told["broken"][5]


@pytest.mark.parametrize(
    ("story", "reason"),
    [
        ("failing", "2 checks in a row got no verdict, the last one for provider_auth."),
        ("silent", "A schedule expects verdicts"),
        ("hostile", "One check found it."),
    ],
)
def test_every_kind_of_alert_says_why(installation: Installation, visitors: Visitors, story: str, reason: str) -> None:
    page = visitors.stranger.get(f"/alerts/{alert_of(installation, story).id}")
    assert reason in page.one("section", aria_labelledby="why").text


def test_an_operator_acknowledges_takes_it_back_and_resolves(installation: Installation, visitors: Visitors) -> None:
    visitor, alert = visitors.as_(Role.OPERATOR), alert_of(installation, "drifting")
    visitor.get(f"/alerts/{alert.id}")

    page = visitor.send(f"/alerts/{alert.id}/ack", text=HOSTILE)
    assert "acknowledged by operator" in page.one(class_="heading").text
    assert HOSTILE in page.one(class_="verdict").text

    page = visitor.send(f"/alerts/{alert.id}/unack")
    assert page.one("form", action=f"/alerts/{alert.id}/ack")

    page = visitor.send(f"/alerts/{alert.id}/resolve", text="they rolled it back")
    assert page.one(class_="heading").one(class_="badge").text == "O resolved"
    assert page.all("form", action=f"/alerts/{alert.id}/ack") == []
    kinds = [event.kind for event in installation.alerts.events(alert.id)]
    assert kinds == ["opened", "fired", "acked", "unacked", "resolved"]
    assert visitors.bell.calls == [("monitor.fan_out",)] * 3


def test_a_silence_is_made_and_ended_from_the_alert(installation: Installation, visitors: Visitors) -> None:
    visitor, alert = visitors.as_(Role.OPERATOR), alert_of(installation, "drifting")
    visitor.get(f"/alerts/{alert.id}")

    page = visitor.send(f"/alerts/{alert.id}/silence", scope="provider", duration="1d", text="they know")

    (silence,) = installation.alerts.silences(Window(10)).items
    assert silence.matchers == {"provider": "acme"}
    assert (silence.author, silence.comment) == ("user:operator", "they know")
    assert "silenced" in page.one(class_="heading").text
    page = visitor.send(f"/alerts/{alert.id}/silences/{silence.id}/end")
    assert "silenced" not in page.one(class_="heading").text
    actions = [entry.action for entry in visitors.state.access.audit_entries(Window(2)).items]
    assert actions == ["silence.end", "silence.create"]


@pytest.mark.parametrize("form", [{"scope": "world"}, {"duration": "100y"}, {"text": " "}])
def test_a_silence_needs_what_how_long_and_why(
    installation: Installation, visitors: Visitors, form: dict[str, str]
) -> None:
    visitor, alert = visitors.as_(Role.OPERATOR), alert_of(installation, "drifting")
    visitor.get(f"/alerts/{alert.id}")
    visitor.send(f"/alerts/{alert.id}/silence", **{"scope": "alert", "duration": "1h", "text": "because", **form})
    assert visitor.response.status_code == 422
    assert installation.alerts.silences(Window(10)).items == ()


def test_a_comment_stands_in_what_happened(installation: Installation, visitors: Visitors) -> None:
    visitor, alert = visitors.as_(Role.OPERATOR), alert_of(installation, "drifting")
    visitor.get(f"/alerts/{alert.id}")
    page = visitor.send(f"/alerts/{alert.id}/comment", text=HOSTILE)
    assert HOSTILE in page.one(class_="timeline").text


def test_a_decision_about_an_alert_that_has_changed_meanwhile_is_not_taken(
    installation: Installation, visitors: Visitors
) -> None:
    first, alert = visitors.as_(Role.OPERATOR), alert_of(installation, "drifting")
    second = visitors.as_(Role.ADMIN)
    first.get(f"/alerts/{alert.id}")
    second.get(f"/alerts/{alert.id}")
    second.send(f"/alerts/{alert.id}/ack")

    page = first.send(f"/alerts/{alert.id}/resolve", text="over")

    assert first.response.status_code == 412
    assert page.one("h1").text == "It has changed meanwhile"
    assert installation.alerts.show(alert.id).state is AlertState.FIRING


def test_a_viewer_sees_no_buttons_and_his_forms_are_refused(installation: Installation, visitors: Visitors) -> None:
    visitor, alert = visitors.as_(Role.VIEWER), alert_of(installation, "drifting")
    page = visitor.get(f"/alerts/{alert.id}")
    assert page.one("main").all("form") == []
    token = page.all("input", name="csrf_token")[0].attributes["value"]

    visitor.post(f"/alerts/{alert.id}/ack", csrf_token=token)

    assert visitor.response.status_code == 403
    assert installation.alerts.show(alert.id).acked_at is None


@pytest.mark.parametrize("token", ["", "forged"])
def test_a_form_without_its_token_changes_nothing(installation: Installation, visitors: Visitors, token: str) -> None:
    visitor, alert = visitors.as_(Role.OPERATOR), alert_of(installation, "drifting")
    visitor.post(f"/alerts/{alert.id}/ack", csrf_token=token)
    assert visitor.response.status_code == 403
    assert installation.alerts.show(alert.id).acked_at is None


def test_anothers_token_is_worth_nothing(installation: Installation, visitors: Visitors) -> None:
    mine, alert = visitors.as_(Role.OPERATOR), alert_of(installation, "drifting")
    other = visitors.as_(Role.ADMIN)
    token = other.get(f"/alerts/{alert.id}").all("input", name="csrf_token")[0].attributes["value"]
    mine.post(f"/alerts/{alert.id}/ack", csrf_token=token)
    assert mine.response.status_code == 403


def test_before_the_first_user_a_form_is_refused_too(installation: Installation, visitors: Visitors) -> None:
    visitor, alert = visitors.stranger, alert_of(installation, "drifting")
    visitor.post(f"/alerts/{alert.id}/ack")
    assert visitor.response.url.path == "/sign-in"
    assert installation.alerts.show(alert.id).acked_at is None

"""Messages as receivers get them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.alerts.states import Severity
from monitor.deliveries.facts import Finding, plain_labels
from monitor.deliveries.formats import MAX_BODY_BYTES, render
from monitor.deliveries.notice import Notice, NoticeType, Reason
from tests.monitor.deliveries.alertmanager import Payload
from tests.monitor.deliveries.material import AT, alert, notice, resolved

FORMATS = ["standard", "alertmanager_v4", "slack", "discord", "text"]
EVENT = {"type": NoticeType.DEGRADED, "reason": Reason.EVENT, "labels": {"channel": "chat"}, "group_labels": {}}
LABELS = st.dictionaries(st.text(max_size=60), st.text(max_size=300), max_size=30).map(plain_labels)


def document(given: Notice, form: str) -> Any:
    return json.loads(render(given, form).content)


def test_standard_says_all_that_is_known_of_an_alert() -> None:
    sent = document(notice(alert(1)), "standard")

    assert (sent["type"], sent["timestamp"]) == ("alert.firing", "2026-11-29T10:15:04.000Z")
    head = {name: value for name, value in sent["data"].items() if name != "alerts"}
    assert head == {
        "schema": 1,
        "reason": "first_notification",
        "group_key": "provider=acme",
        "truncated": 0,
        "status": "firing",
    }
    assert sent["data"]["alerts"] == [
        {
            "id": "alr_0001",
            "fingerprint": "9f2c0001",
            "state": "firing",
            "severity": "critical",
            "acked": False,
            "flapping": False,
            "rule": "drift",
            "metric": "logprobs",
            "labels": {"provider": "acme", "model": "qwen3-32b", "endpoint": "ep_1", "rule": "drift"},
            "summary": "acme/qwen3-32b: logprobs 0.003 → 0.658 nat, looks like w4-g64",
            "value": 0.658,
            "baseline": 0.003,
            "unit": "nat",
            "ci": [0.556, 0.877],
            "n": 40,
            "p": 1e-05,
            "detector": "energy/3",
            "causes": [{"name": "w4-g64", "weight": 0.98}, {"name": "fp8-e4m3", "weight": 0.02}],
            "error": None,
            "confirmed_by": ["chk_1", "chk_2"],
            "runs": ["run_1", "run_2"],
            "changed_between": ["2026-11-29T08:15:04.000Z", "2026-11-29T09:15:04.000Z"],
            "first_seen": "2026-11-29T09:15:04.000Z",
            "fired_at": "2026-11-29T10:14:04.000Z",
            "resolved_at": None,
            "links": {"alert": "https://mon.example/alerts/alr_0001", "api": "/api/v1/alerts/alr_0001"},
        }
    ]


def test_standard_carries_an_event_as_it_is() -> None:
    sent = document(notice(**EVENT, data={"failures": 10, "reason": "it is down"}), "standard")

    assert sent["type"] == "monitor.degraded"
    assert sent["data"] == {"schema": 1, "labels": {"channel": "chat"}, "failures": 10, "reason": "it is down"}


def test_a_standard_body_is_minified() -> None:
    assert b'{"type":"alert.firing","timestamp":"' in render(notice(alert(1)), "standard").content


@pytest.mark.parametrize(
    "given",
    [
        notice(alert(1)),
        notice(alert(1), resolved(2), reason=Reason.NEW_RESOLVED, type=NoticeType.RESOLVED),
        notice(resolved(1), type=NoticeType.RESOLVED),
        notice(alert(1, finding=Finding(), labels={})),
        notice(**EVENT),
        notice(type=NoticeType.TEST, reason=Reason.TEST),
    ],
)
def test_a_receiver_of_alertmanager_understands_every_notice(given: Notice) -> None:
    payload = Payload.model_validate_json(render(given, "alertmanager_v4").content)

    assert payload.receiver == "ops"
    assert payload.status == ("resolved" if given.status == "resolved" else "firing")


def test_alertmanagers_fields_hold_what_they_hold_there() -> None:
    payload = Payload.model_validate_json(render(notice(alert(1), resolved(2)), "alertmanager_v4").content)

    assert payload.groupKey == "{}:{provider=acme}"
    assert payload.notification_reason == "first notification"
    assert payload.commonLabels == {
        "provider": "acme",
        "model": "qwen3-32b",
        "endpoint": "ep_1",
        "rule": "drift",
        "alertname": "drift",
        "severity": "critical",
        "metric": "logprobs",
    }
    assert [entry.endsAt.year for entry in payload.alerts] == [1, 2026]
    assert payload.alerts[0].startsAt == alert(1).fired_at


def test_slack_gets_a_text_and_a_section_for_each_alert() -> None:
    sent = document(notice(alert(1), resolved(2)), "slack")

    assert sent["text"] == "[FIRING:1] acme"
    assert [block["text"]["text"] for block in sent["blocks"]] == [
        "*[FIRING:1] acme*",
        "<https://mon.example/alerts/alr_0001|critical: acme/qwen3-32b: logprobs 0.003 → 0.658 nat, looks like w4-g64>",
        "<https://mon.example/alerts/alr_0002|resolved: acme/qwen3-32b: logprobs 0.003 → 0.658 nat, looks like w4-g64>",
    ]


def test_slack_calls_nobody() -> None:
    content = render(notice(alert(1, labels={"provider": "<!channel>"})), "slack").content.decode()

    assert "<!channel>" not in content
    assert "&lt;!channel&gt;" in content


def test_discord_gets_one_embed_and_calls_nobody() -> None:
    sent = document(notice(alert(1, severity=Severity.WARNING), labels={"provider": "@everyone"}), "discord")
    over = document(notice(resolved(1)), "discord")

    assert sent["allowed_mentions"] == {"parse": []}
    assert sent["embeds"][0]["title"] == "\\[FIRING:1\\] acme"
    assert sent["embeds"][0]["color"] == 0xE09F3E
    assert over["embeds"][0]["color"] == 0x2E7D32


def test_plain_text_has_its_title_first() -> None:
    title, blank, *lines = render(notice(alert(1), resolved(2), external_url=""), "text").content.decode().split("\n")

    assert (title, blank) == ("[FIRING:1] acme", "")
    assert [text.split(":")[0] for text in lines] == ["critical", "resolved"]


@pytest.mark.parametrize(
    ("given", "title"),
    [
        (notice(resolved(1), type=NoticeType.RESOLVED), "[RESOLVED] acme"),
        (notice(alert(1), type=NoticeType.ACKNOWLEDGED), "[ACKNOWLEDGED] acme"),
        (notice(alert(1), type=NoticeType.FLAPPING), "[FLAPPING] acme"),
        (notice(alert(1), group_labels={}), "[FIRING:1] acme/qwen3-32b"),
        (notice(**EVENT), "The monitor itself is degraded"),
    ],
)
def test_a_title_says_what_it_is_about(given: Notice, title: str) -> None:
    assert render(given, "text").content.decode().split("\n")[0] == title


@pytest.mark.parametrize("form", FORMATS)
def test_a_large_group_is_cut_from_its_end_and_says_by_how_many(form: str) -> None:
    many = notice(*(alert(number) for number in range(1, 401)))
    content = render(many, form).content

    assert len(content) < MAX_BODY_BYTES
    if form == "standard":
        data = json.loads(content)["data"]
        assert data["truncated"] + len(data["alerts"]) == 400
        assert [entry["id"] for entry in data["alerts"]] == [f"alr_{n:04}" for n in range(1, len(data["alerts"]) + 1)]
        assert len(content) > 0.9 * MAX_BODY_BYTES
    elif form == "alertmanager_v4":
        payload = Payload.model_validate_json(content)
        assert payload.truncatedAlerts + len(payload.alerts) == 400
    else:
        assert "more" in content.decode()


@pytest.mark.parametrize("form", FORMATS)
@given(labels=LABELS, number=st.integers(1, 30))
def test_no_labels_make_a_message_too_large(form: str, labels: dict[str, str], number: int) -> None:
    alerts = [alert(n, labels=labels) for n in range(number)]
    content = render(notice(*alerts, group_labels=labels, labels=labels), form).content

    assert len(content) < MAX_BODY_BYTES


@pytest.mark.parametrize("form", ["slack", "discord"])
def test_discord_and_slack_stay_within_their_own_limits(form: str) -> None:
    sent = render(notice(*(alert(number) for number in range(1, 401))), form).content
    if form == "discord":
        (embed,) = json.loads(sent)["embeds"]
        assert len(embed["title"]) <= 256
        assert len(embed["description"]) <= 4096
    if form == "slack":
        blocks = json.loads(sent)["blocks"]
        assert len(blocks) <= 50
        assert all(len(block["text"]["text"]) <= 3000 for block in blocks)


@pytest.mark.parametrize("form", FORMATS)
def test_every_alert_has_a_link_to_its_page(form: str) -> None:
    sent = render(notice(alert(1), alert(2)), form).content.decode()
    assert [sent.count(f"https://mon.example/alerts/alr_000{number}") for number in (1, 2)] == [1, 1]


@pytest.mark.parametrize("form", FORMATS)
def test_a_link_needs_the_services_own_address(form: str) -> None:
    assert "https://" not in render(replace(notice(alert(1)), external_url=""), form).content.decode()


def test_times_are_utc() -> None:
    assert document(notice(at=AT.astimezone()), "standard")["timestamp"] == "2026-11-29T10:15:04.000Z"

"""The endpoint's page: a verdict in a sentence, charts with their numbers as tables, what was found, what happened."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from xml.etree import ElementTree

import pytest

from monitor.store import EndpointIdentity, RunResult, RunStatus
from tests.dashboards.material import HOSTILE, Found, Installation, story
from tests.dashboards.pages import Element, cells
from tests.dashboards.visitor import Visitors
from tests.monitor.store.material import finished_run

TOLD = RunResult(RunStatus.SUCCEEDED, tokens_in=7, tokens_out=5)
UNKNOWN = "ep_00000000000000000000000000"


def page_of(installation: Installation, visitors: Visitors, told: str, query: str = "") -> Element:
    return visitors.stranger.get(f"/endpoints/{installation.endpoints[told].id}{query}")


@pytest.mark.parametrize(
    ("story", "sentence"),
    [
        ("failing", "It cannot be asked: provider_auth."),
        ("silent", "Nothing has been heard of it for too long."),
        ("kept", "It is in maintenance: it is measured on, and no notice is sent."),
        ("new", "Its baseline has just been set; later checks are compared with it."),
    ],
)
def test_the_headline_is_the_verdict_in_a_sentence(
    installation: Installation, visitors: Visitors, story: str, sentence: str
) -> None:
    assert page_of(installation, visitors, story).one(class_="headline").text == sentence


def test_the_headline_says_who_says_so_and_since_when(installation: Installation, visitors: Visitors) -> None:
    fine = page_of(installation, visitors, "fine").one(class_="headline").text
    assert re.fullmatch(r"It is what it was: no drift by \w+, \w+ and \w+, since 20..-..-.. ..:.. UTC\.", fine)


def test_a_private_suite_that_is_well_hides_no_suspicion_of_the_fidelity(
    installation: Installation, visitors: Visitors
) -> None:
    identity = EndpointIdentity("acme", "https://suite.test/v1", "wren-8b", "wren-suite")
    hours = [installation.now - timedelta(hours=number) for number in (9, 6, 3)]
    first, far, suite = Found(hours[0]), Found(hours[1], fidelity=0.3), Found(hours[2], suite="night")
    record = story(installation.store, identity, [first, far, suite])

    page = visitors.stranger.get(f"/endpoints/{record.id}")

    since = f"{hours[1] + timedelta(seconds=30):%Y-%m-%d %H:%M}"
    assert page.one(class_="headline").text == (
        f"It has not changed, but it is not what it should be: fidelity, since {since} UTC."
    )
    assert page.all(class_="badge")[0].text == "S suspect"
    assert "Its distance to the reference is 0.300 nat" in page.one(class_="verdict").text
    stands = cells(page.one("section", aria_labelledby="stands").one("table"))
    assert [row[:2] for row in stands] == [
        ["accounting", "O ok"],
        ["evals of night", "O ok"],
        ["fidelity", "S suspect"],
        ["logprobs", "O ok"],
    ]


def test_the_headline_of_a_drift_says_how_far_and_what_it_looks_like(
    installation: Installation, visitors: Visitors
) -> None:
    page = page_of(installation, visitors, "drifting")
    headline = page.one(class_="headline").text
    assert headline.startswith("It is not what it was: logprobs moved by 0.6")
    assert headline.endswith("looks like w4-g64 93%, w8-channel 7%.")
    assert "outside every allowed profile" in page.one(class_="verdict").text


def test_each_chart_says_its_finding_and_leads_to_its_numbers(installation: Installation, visitors: Visitors) -> None:
    visitor = visitors.stranger
    page = visitor.get(f"/endpoints/{installation.endpoints['drifting'].id}")
    figures = page.all("figure")
    assert [one.one("b").text for one in figures] == ["Fidelity", "Drift"]
    finding = figures[0].one(class_="finding").text
    assert "beyond the lawful 0.021." in finding
    assert "Without data for 1.8 d." in finding

    table = visitor.get(figures[0].one("figcaption").one("a").attributes["href"])

    rows = cells(table.one("table"))
    assert len(rows) == 25
    assert float(rows[0][1]) > 0.6
    older = visitor.get(f"{visitor.response.url.path}{table.one('a', rel='next').attributes['href']}")
    assert "Page 2 of 5" in older.one(class_="pager").text


@pytest.mark.usefixtures("still")
def test_a_chart_is_drawn_for_each_theme_and_width_without_foreign_text(
    installation: Installation, visitors: Visitors
) -> None:
    visitor = visitors.stranger
    picture = visitor.get(f"/endpoints/{installation.endpoints['hostile'].id}").all("picture")[0]
    addresses = [one.attributes["srcset"] for one in picture.all("source")] + [picture.one("img").attributes["src"]]

    drawings = {}
    for address in addresses:
        answer = visitor.client.get(address)
        assert answer.headers["content-type"].startswith("image/svg+xml")
        root = ElementTree.fromstring(answer.text)
        drawings[answer.text] = {one.text for one in root.iter("{http://www.w3.org/2000/svg}text")}

    assert len(drawings) == 6
    assert all("C" in letters and not any("<" in str(text) for text in letters) for letters in drawings.values())


@pytest.mark.usefixtures("still")
def test_a_chart_may_be_kept_for_ever_under_its_digest_alone(installation: Installation, visitors: Visitors) -> None:
    visitor = visitors.stranger
    image = visitor.get(f"/endpoints/{installation.endpoints['fine'].id}").all("img")[0].attributes["src"]
    assert "immutable" in visitor.client.get(image).headers["cache-control"]
    assert "immutable" not in visitor.client.get(image.replace("v=", "v=0")).headers["cache-control"]


def test_what_moved_stands_apart_from_what_differs_from_the_reference(
    installation: Installation, visitors: Visitors
) -> None:
    found = page_of(installation, visitors, "drifting").one("section", aria_labelledby="checks")
    changed, apart = found.all("table")[:2]

    logprobs, about, accounting, _ = cells(changed)
    assert logprobs[:4] == ["logprobs", "D drift", "", ""]
    assert logprobs[4].startswith("0.6")
    assert "looks like w4-g64 93%, w8-channel 7%; p 4e-06, n 20, would see 0.006 nat" in about[0]
    assert accounting == ["accounting", "O ok", "+0 tokens", "+0 tokens", "+0 tokens"]
    assert cells(apart)[0][:2] == ["fidelity", "S suspect"]


def test_what_is_said_beside_the_checks_can_be_opened(installation: Installation, visitors: Visitors) -> None:
    page = page_of(installation, visitors, "drifting")

    said = {one.one("summary").text: cells(one.one("table")) for one in page.all("details", class_="said")}

    assert list(said) == [
        "What answers came to 1 of the check's answers",
        "By serving stack 2 behind the endpoint",
        "What parameters do 1 acts, 1 ignored",
        "Of the serving stack reminds of vLLM",
    ]
    rates, variants, parameters, protocol = said.values()
    assert rates == [["do what the case demands", "75.0 %", "30/40", "97.5 %", "oracle_met"]]
    assert variants[2:] == [["tool_calls bbbbbbbb", "25.0 %", "10", "2e-06"], ["oracle_met 75.0 %"]]
    assert parameters[1] == ["n", "ignored", "acts", HOSTILE]
    assert protocol[0] == ["cache", "8 identical pairs of requests are answered afresh"]
    assert page_of(installation, visitors, "fine").all("details", class_="said") == []


def test_alerts_changes_and_runs_are_there(installation: Installation, visitors: Visitors) -> None:
    page = page_of(installation, visitors, "drifting")
    (alert,) = page.all("section", aria_labelledby="alerts")[0].all("li")
    assert alert.text.startswith("D firing drift · logprobs critical")
    assert "fingerprint fp_9a1c became fp_2b77" in page.one(class_="changes").text
    runs = cells(page.all("table")[-1])
    assert len(runs) == 15
    assert runs[0][1:4] == ["logprobs", "schedule", "succeeded"]


def test_tokens_that_nobody_told_of_are_not_nothing(installation: Installation, visitors: Visitors) -> None:
    store, endpoint = installation.store, installation.endpoints["fine"]
    for place, result in enumerate((TOLD, replace(TOLD, tokens_out=None), replace(TOLD, n_without_usage=2))):
        at = installation.now + timedelta(seconds=place)
        finished_run(store, endpoint.id, at, check_id=f"chk_{place}", outcome=result)

    runs = page_of(installation, visitors, "fine").all("table")[-1]

    assert [row[5] for row in cells(runs)[:3]] == ["≥ 12", "not known", "12"]
    listed = visitors.stranger.client.get(f"/api/v1/runs?endpoint={endpoint.id}&limit=2").json()["items"]
    assert [(run["tokens_out"], run["n_without_usage"]) for run in listed] == [(5, 2), (None, 0)]


def test_what_the_lines_of_the_charts_are_is_listed(installation: Installation, visitors: Visitors) -> None:
    listed = page_of(installation, visitors, "drifting").one("details", id="lines")
    assert listed.one("summary").text == "4 lines in this time"
    lines = [re.sub(r" 20.*", "", one.text) for one in listed.all("li")]
    assert lines == ["A alert fired", "F fingerprint", "B baseline", "C config"]


def test_hostile_texts_are_text(installation: Installation, visitors: Visitors) -> None:
    page = page_of(installation, visitors, "hostile")
    assert HOSTILE in page.one(class_="changes").text
    assert HOSTILE in page.one("section", aria_labelledby="checks").text
    assert HOSTILE in page.one(class_="facts").text
    assert "\u202e" not in page.text
    assert [one.attributes["src"] for one in page.all("script")] == ["/static/live.js"]


@pytest.mark.parametrize(("query", "shown"), [("", "30d"), ("?range=7d", "7d"), ("?range=1000y", "30d")])
def test_the_range_is_chosen_by_the_address(
    installation: Installation, visitors: Visitors, query: str, shown: str
) -> None:
    chosen = page_of(installation, visitors, "fine", query).one("a", aria_current="true")
    assert chosen.text == shown


def test_an_endpoint_without_any_point_says_so(installation: Installation, visitors: Visitors) -> None:
    assert "Nothing was measured in this time." in page_of(installation, visitors, "silent", "?range=24h").text


@pytest.mark.parametrize(
    "path",
    [f"/endpoints/{UNKNOWN}", "/endpoints/%00", f"/endpoints/{UNKNOWN}/charts/fidelity.svg", "/nothing", "/alerts/x"],
)
def test_what_is_not_there_is_a_page_that_says_so(visitors: Visitors, path: str) -> None:
    visitor = visitors.stranger
    page = visitor.get(path)
    assert visitor.response.status_code == 404
    assert page.one("h1").text == "Not here"


def test_an_unknown_chart_is_not_there(installation: Installation, visitors: Visitors) -> None:
    visitor = visitors.stranger
    visitor.get(f"/endpoints/{installation.endpoints['fine'].id}/charts/nothing.svg")
    assert visitor.response.status_code == 404

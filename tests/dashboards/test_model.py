"""The page of a model: its endpoints beside each other, in careful words."""

from __future__ import annotations

from datetime import timedelta

import pytest

from monitor import clock
from monitor.store.vocabulary import Role
from tests.dashboards.material import Installation
from tests.dashboards.pages import cells
from tests.dashboards.visitor import Visitors
from tests.monitor.store.beside import FP8, ONE_OF_FIVE, fleet, private_texts

HOUR = timedelta(hours=1)


def test_the_one_that_differs_is_named_with_its_distance(empty: Visitors) -> None:
    endpoints = fleet(empty.store, ONE_OF_FIVE, clock.now() - HOUR)

    page = empty.stranger.get("/models/smol")

    assert page.one(class_="headline").text.startswith("host-2 (smol) differs from the others by 0.1")
    assert "It is not said who is right" in page.one(class_="verdict").text
    rows = cells(page.one("section", aria_labelledby="consensus").one("table"))
    words = ["· no difference shown", "≠ differs from the others"]
    assert [row[:2] for row in rows] == [[f"host-{place}", words[place == 2]] for place in range(5)]
    assert rows[2][4].startswith("0.1")
    assert "×" in rows[2][4]
    links = [link.attributes["href"] for link in page.one("tbody").all("a")]
    assert links == [f"/endpoints/{endpoint.id}" for endpoint in endpoints]


def test_where_most_run_fp8_the_words_stay_careful(empty: Visitors) -> None:
    fleet(empty.store, [(), (FP8,), (FP8,), (FP8,), (FP8,)], clock.now() - HOUR)

    page = empty.stranger.get("/models/smol")

    assert page.one(class_="headline").text.startswith("host-0 (smol) differs from the others")
    words = set(page.one("main").text.lower().split())
    assert not {"wrong", "fraud", "fault", "bad", "suspect", "drift"} & words


def test_camps_are_shown_in_words(empty: Visitors) -> None:
    fleet(empty.store, [(FP8,), (FP8,), (), (), ()], clock.now() - HOUR)

    page = empty.stranger.get("/models/smol")

    assert page.one(class_="headline").text.startswith("Two camps differ from each other (host-2, host-3, host-4;")
    badges = [row[1] for row in cells(page.one("table"))]
    assert badges == ["2 camp 2", "2 camp 2", "1 camp 1", "1 camp 1", "1 camp 1"]


def test_three_providers_are_inapplicable_and_it_is_said_what_to_do(empty: Visitors) -> None:
    fleet(empty.store, [()] * 3, clock.now() - HOUR)
    fleet(empty.store, [()] * 5, clock.now() - HOUR, model="large")

    verdict = empty.stranger.get("/models/smol").one(class_="verdict").text

    assert verdict.startswith("Inapplicable: consensus is of 4 providers of one model at least, and these are 3.")
    assert "Add more providers of smol" in verdict


def test_it_may_be_looked_further_back(empty: Visitors) -> None:
    fleet(empty.store, ONE_OF_FIVE, clock.now() - 30 * HOUR)
    visitor = empty.stranger

    near = visitor.get("/models/smol")
    (week,) = (link for link in near.one(class_="ranges").all("a") if link.text == "7d")
    far = visitor.get(f"/models/smol{week.attributes['href']}")

    assert near.one(class_="headline").text.startswith("Inapplicable")
    assert {row[0] for row in cells(near.one("table")) if "it was not asked in this time" not in row[0]} == {
        f"host-{place}" for place in range(5)
    }
    assert far.one(class_="headline").text.startswith("host-2")
    assert [link.text for link in far.all("a", aria_current="true") if link.text in ("24h", "7d", "30d")] == ["7d"]


def test_nothing_private_is_on_the_page(empty: Visitors) -> None:
    fleet(empty.store, ONE_OF_FIVE, clock.now() - HOUR, references=[2])
    visitor = empty.stranger
    visitor.get("/models/smol")
    assert [private for private in private_texts() if private in visitor.response.text] == []


def test_the_overview_and_the_endpoint_lead_to_it(installation: Installation, visitors: Visitors) -> None:
    visitor = visitors.stranger
    overview = visitor.get("/")
    endpoint = visitor.get(f"/endpoints/{installation.endpoints['fine'].id}")

    for page in (overview, endpoint):
        assert page.all("a", href="/models/wren-8b")
    for link in overview.one(class_="matrix").one("tbody").all("a"):
        if link.attributes["href"].startswith("/models/"):
            visitor.get(link.attributes["href"])
            assert visitor.response.status_code == 200, link.attributes["href"]


@pytest.mark.parametrize("path", ["/models/unknown", "/models/%00", "/models/a/b"])
def test_a_model_that_is_not_there_is_not_found(installation: Installation, visitors: Visitors, path: str) -> None:
    visitor = visitors.stranger
    visitor.get(path)
    assert visitor.response.status_code == 404


def test_strangers_are_sent_to_sign_in(empty: Visitors) -> None:
    fleet(empty.store, ONE_OF_FIVE, clock.now() - HOUR)
    empty.add("alice", Role.VIEWER)
    visitor = empty.stranger
    visitor.get("/models/smol")
    assert visitor.response.url.path == "/sign-in"

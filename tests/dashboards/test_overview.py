"""The overview: one glance at every endpoint, what is wrong with the monitor itself, and a first page that helps."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest

from dashboards.views.overview import MOST_CELLS
from monitor import clock
from monitor.config import load_config
from monitor.config.objects import objects_of
from monitor.store import EndpointIdentity, Store
from monitor.store.beats import Beats
from monitor.store.config import ConfigObjects
from monitor.worker.canary import CONNECTIVITY, Connectivity
from monitor.worker.tick import TICKING, Ticking
from tests.dashboards.material import HOSTILE, Found, Installation, story
from tests.dashboards.pages import Element
from tests.dashboards.statements import statements
from tests.dashboards.visitor import Visitors


def cell(page: Element, endpoint_id: str) -> Element:
    return next(one for one in page.all(class_="cell") if one.all("a", href=f"/endpoints/{endpoint_id}"))


@pytest.mark.parametrize(
    ("story", "letter", "word"),
    [
        ("fine", "O", "ok"),
        ("drifting", "D", "drift"),
        ("failing", "E", "provider error"),
        ("silent", "?", "no data"),
        ("kept", "M", "maintenance"),
        ("new", "N", "new baseline"),
        ("hostile", "P", "pending"),
    ],
)
def test_a_cell_says_in_a_letter_and_a_word_how_an_endpoint_stands(
    installation: Installation, visitors: Visitors, story: str, letter: str, word: str
) -> None:
    page = visitors.stranger.get("/")
    badge = cell(page, installation.endpoints[story].id).one(class_="badge")
    assert badge.text == f"{letter} {word}"


def test_a_cell_has_the_score_its_move_and_a_month_in_words(installation: Installation, visitors: Visitors) -> None:
    drifting = cell(visitors.stranger.get("/"), installation.endpoints["drifting"].id)
    assert drifting.one(class_="score").text.endswith(" nat")
    assert float(drifting.one(class_="score").text.split()[0]) > 0.6
    assert drifting.one(class_="delta").text.startswith("Δ 0.6")
    in_words = drifting.one("svg").attributes["aria-label"]
    assert re.fullmatch(
        r"(28|29|30) of 30 days with data, between 0\.01\d and 0\.[67]\d\d nat, last 0\.6\d\d", in_words
    )
    assert "next" in drifting.one(class_="when").text


def test_a_suite_that_was_asked_last_hides_neither_suspicion_nor_score(
    installation: Installation, visitors: Visitors
) -> None:
    identity = EndpointIdentity("acme", "https://suite.test/v1", "wren-8b", "wren-suite")
    earlier, last = (installation.now - timedelta(hours=hours) for hours in (6, 3))
    record = story(installation.store, identity, [Found(earlier, fidelity=0.3), Found(last, suite="night")])

    found = cell(visitors.stranger.get("/"), record.id)

    assert found.one(class_="badge").text == "S suspect"
    assert found.one(class_="score").text == "0.300 nat"


def test_a_configured_endpoint_that_was_never_checked_is_there_without_a_link(visitors: Visitors) -> None:
    waiting = [one for one in visitors.stranger.get("/").all(class_="cell") if "not checked yet" in one.text]
    assert [one.all("a") for one in waiting] == [[]]


def test_only_problems_and_a_filter_narrow_the_matrix(installation: Installation, visitors: Visitors) -> None:
    visitor = visitors.stranger
    words = {one.one(class_="badge").text for one in visitor.get("/?problems=1").all(class_="cell")}
    assert words == {"D drift", "E provider error", "? no data", "P pending"}

    (one,) = visitor.get("/?filter=TIER:prod").all(class_="cell")
    assert one.all("a", href=f"/endpoints/{installation.endpoints['drifting'].id}")

    assert visitor.get("/?filter=nothing-like-it").one(class_="empty").text == "No endpoint fits."


def test_hostile_names_are_text(visitors: Visitors) -> None:
    page = visitors.stranger.get("/")
    assert HOSTILE[:60] in page.one(class_="matrix").text
    assert "gnp.exe" in [one.text for one in page.all("th", scope="row")]
    assert [one.attributes for one in page.all("script")] == [{"src": "/static/live.js", "type": "module"}]
    assert page.all("img") == []


def test_no_banner_while_all_is_well(visitors: Visitors) -> None:
    assert visitors.stranger.get("/").all(class_="banner") == []


def test_the_banner_says_what_is_wrong_with_the_monitor_itself(installation: Installation, visitors: Visitors) -> None:
    now, beats = clock.now(), Beats(installation.store.sessions)
    old = now - timedelta(minutes=10)
    beats.put_setting(TICKING, Ticking(old, old).to_json(), now)
    beats.put_setting(CONNECTIVITY, Connectivity(now, old).to_json(), now)

    banner = visitors.stranger.get("/").one(class_="banner")

    assert banner.attributes["role"] == "status"
    no_work, offline = [one.text for one in banner.all("li")]
    assert no_work == "No worker has worked for 10 min: nothing is checked, and no notice is sent."
    assert offline.startswith("Nothing outside can be reached since ")


def test_a_canary_that_has_long_said_nothing_is_not_believed(installation: Installation, visitors: Visitors) -> None:
    old = clock.now() - timedelta(days=1)
    Beats(installation.store.sessions).put_setting(CONNECTIVITY, Connectivity(old, old).to_json(), old)

    assert visitors.stranger.get("/").all(class_="banner") == []


def test_an_empty_installation_says_what_to_do_next(empty: Visitors) -> None:
    page = empty.stranger.get("/")
    assert page.one("h1").text == "Nothing is monitored yet"
    assert len(page.one("ol").all("li")) == 3
    commands = [one.text for one in page.one("ol").all("code")]
    assert {"monitor config init", "monitor config check", "monitor config apply"} <= set(commands)


def configured(store: Store, folder: Path, providers: int, models: int) -> None:
    """Endpoints that nothing has checked yet."""
    names = [f"model-{number:03}" for number in range(models)]
    served = ", ".join(f"{{ model: {name}, name: {name} }}" for name in names)
    entries = (f"{{ slug: p{n}, base_url: https://api.test/v1, models: [{served}] }}" for n in range(providers))
    text = (
        f"version: 1\nmodels: {{ {', '.join(f'{name}: {{}}' for name in names)} }}\nproviders: [{', '.join(entries)}]"
    )
    path = folder / "providers.yaml"
    path.write_text(text, "utf-8")
    ConfigObjects(store.sessions).apply(objects_of(load_config(path)), actor="test", at=clock.now())


def test_a_large_matrix_comes_in_pages_that_keep_what_was_asked(empty: Visitors, tmp_path: Path) -> None:
    configured(empty.store, tmp_path, providers=2, models=100)
    visitor = empty.stranger

    first = visitor.get("/?filter=model-0")

    assert len(first.all(class_="cell")) == MOST_CELLS
    assert "200 endpoints" in first.one(class_="heading").text
    assert "Page 1 of 2: model-000 to model-074" in first.one(class_="pager").text
    second = visitor.get("/" + first.one("a", rel="next").attributes["href"])
    assert len(second.all(class_="cell")) == 200 - MOST_CELLS
    assert second.one("input", name="filter").attributes["value"] == "model-0"
    assert visitor.get("/?page=99").one("a", rel="prev").attributes["href"] == "?page=1"


def test_more_endpoints_are_not_more_statements(installation: Installation, visitors: Visitors) -> None:
    visitor = visitors.stranger
    with statements() as few:
        visitor.get("/")
    for number in range(8):
        identity = EndpointIdentity(f"more-{number}", "https://more.test/v1", "lark-30b", "lark")
        story(installation.store, identity, [Found(installation.now - timedelta(hours=hours)) for hours in (2, 1)])
    with statements() as many:
        page = visitor.get("/")
    assert len(page.all(class_="cell")) > 12
    assert len(many) == len(few)

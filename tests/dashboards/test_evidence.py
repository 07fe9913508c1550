"""The evidence of streams on the pages: E over time, each stream in words, every look, and who changed of all."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboards.changed import FALSE_SHARE, changed
from dashboards.chart import Theme, Width
from dashboards.drawing import drawn
from dashboards.evidence_chart import Begin, Change, EvidenceChart, Step
from dashboards.evidence_drawing import LEAST, of_evidence
from monitor.store.series import Span
from monitor.store.stream_view_records import EndpointWorth
from monitor.store.streams import Streams
from monitor.store.vocabulary import Role, StreamLevel
from tests.dashboards.material import HOSTILE, Installation
from tests.dashboards.pages import Element, cells
from tests.dashboards.visitor import Visitors
from tests.dashboards.watched import watch

NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)
SPAN = Span(NOON - timedelta(days=7), NOON)
HOUR = timedelta(hours=1)
UNKNOWN = "ep_00000000000000000000000000"


def page_of(installation: Installation, visitors: Visitors, story: str) -> Element:
    return visitors.stranger.get(f"/endpoints/{installation.endpoints[story].id}")


def section(page: Element) -> Element:
    return page.one("section", aria_labelledby="evidence")


def chart(*worths: float, **other: object) -> EvidenceChart:
    steps = tuple(Step(NOON - (len(worths) - place) * HOUR, 3, worth, worth) for place, worth in enumerate(worths))
    return EvidenceChart(SPAN, steps, **other)  # type: ignore[arg-type]


def test_an_endpoint_that_is_not_watched_says_what_would_start_it(
    installation: Installation, visitors: Visitors
) -> None:
    found = section(page_of(installation, visitors, "fine"))
    assert found.one(class_="empty").text.startswith("No epoch is open. The next saved check")
    assert found.all("figure") == []


def test_a_quiet_endpoint_shows_what_it_goes_by(installation: Installation, visitors: Visitors) -> None:
    watch(installation.store, installation.endpoints["fine"], installation.now, lawful=12)

    found = section(page_of(installation, visitors, "fine"))

    assert found.one(class_="heading").text.startswith("Evidence O ok over many rounds: E ")
    told = found.one(class_="prose").text
    assert "E reaches 1,000 within the epoch’s 30 days with a chance of at most 0.1 %" in told
    assert re.search(r"The epoch ends 20\d\d-\d\d-\d\d \d\d:\d\d UTC: levels stay, and E starts at 1 again\.", told)
    assert "below 20, from which on it is shown." in found.one(class_="finding").text
    logprobs, border, greedy = cells(found.one("table"))
    assert logprobs[0] == f"T1 log-probabilities {'a' * 19}…"
    assert logprobs[1] == "O ok"
    assert logprobs[3] == "6"
    assert re.fullmatch(
        r"Lawful is a mean score of at most 0\.\d{3} in six hours and 0\.\d{3} over days, from 14 days \(δ 0\.020\)\.",
        logprobs[4],
    )
    assert logprobs[5].startswith("as before")
    assert border[1].endswith("inapplicable")
    assert border[4] == f"Says nothing: {HOSTILE}."
    assert greedy[4].startswith("Learns what is lawful since 20")
    assert greedy[4].endswith("Until then its ranks are shown at most.")


def test_a_drift_is_told_with_when_it_began(installation: Installation, visitors: Visitors) -> None:
    watch(installation.store, installation.endpoints["fine"], installation.now, lawful=12, moved=14)

    page = page_of(installation, visitors, "fine")
    found = section(page)

    began = installation.now - 13 * timedelta(hours=4)
    assert "Evidence D drift over many rounds: E " in found.one(class_="heading").text
    told = re.search(
        r"began after (.{16}) and not later than (.{16}), likeliest with the round of (.{16}); it was proven",
        found.one(class_="prose").text,
    )
    assert told is not None
    assert told[3] == f"{began:%Y-%m-%d %H:%M}"
    assert told[1] < told[3] <= told[2]
    assert "monitor baseline accept --provider acme --model wren-8b" in found.text
    assert "beyond 1,000: drift." in found.one(class_="finding").text
    assert f"The change began between {told[1]} and {told[2]} UTC." in found.one(class_="finding").text


def test_hostile_reasons_are_text(installation: Installation, visitors: Visitors) -> None:
    watch(installation.store, installation.endpoints["fine"], installation.now, lawful=2)
    page = page_of(installation, visitors, "fine")
    assert HOSTILE in section(page).text
    assert [one.attributes["src"] for one in page.all("script")] == ["/static/live.js"]


@pytest.mark.usefixtures("still")
def test_its_chart_is_drawn_for_each_theme_and_width(installation: Installation, visitors: Visitors) -> None:
    watch(installation.store, installation.endpoints["fine"], installation.now, lawful=6, moved=14)
    visitor = visitors.stranger
    picture = section(visitor.get(f"/endpoints/{installation.endpoints['fine'].id}")).one("picture")
    addresses = [one.attributes["srcset"] for one in picture.all("source")] + [picture.one("img").attributes["src"]]

    drawings = set()
    for address in addresses:
        answer = visitor.client.get(address)
        assert "immutable" in answer.headers["cache-control"]
        texts = {one.text for one in ElementTree.fromstring(answer.text).iter("{http://www.w3.org/2000/svg}text")}
        assert {"shown 20", "suspect 100", "drift 1,000", "D"} <= texts
        drawings.add(answer.text)

    assert len(drawings) == 6
    size = re.search(r'width="(\d+)" height="(\d+)"', answer.text)
    assert size is not None
    assert int(size[2]) == pytest.approx(int(picture.one("img").attributes["height"]), abs=12)


def test_every_look_is_in_a_table_newest_first(installation: Installation, visitors: Visitors) -> None:
    watch(installation.store, installation.endpoints["fine"], installation.now, lawful=16, moved=14)
    visitor = visitors.stranger
    page = visitor.get(f"/endpoints/{installation.endpoints['fine'].id}")

    table = visitor.get(section(page).one("a", id="table-evidence").attributes["href"])

    opened, closed = cells(table.one("section", aria_labelledby="epochs").one("table"))
    assert (opened[0], opened[2:4], closed[0], closed[3]) == ("1", ["–", "open"], "0", "expired")
    rows = cells(table.one("section", aria_labelledby="looks").one("table"))
    assert len(rows) == 25
    assert (rows[0][1], rows[0][3]) == ("1", "drift")
    assert {"drifted", "suspected"} <= {row[4] for row in rows}
    older = visitor.get(f"{visitor.response.url.path}{table.one('a', rel='next').attributes['href']}")
    rest = cells(older.one("section", aria_labelledby="looks").one("table"))
    assert len(rest) == 5
    assert {row[1] for row in rest} == {"0"}
    visitor.get(f"{visitor.response.url.path}?after=nonsense")
    assert visitor.response.status_code == 400


def test_why_a_person_closed_an_epoch_is_told(installation: Installation, visitors: Visitors) -> None:
    endpoint = installation.endpoints["fine"]
    watch(installation.store, endpoint, installation.now, lawful=2)
    Streams(installation.store.sessions).accept(endpoint.id, {}, note=HOSTILE, actor="user:ada", at=installation.now)
    table = visitors.stranger.get(f"/endpoints/{endpoint.id}/series/evidence")
    _, closed, _ = cells(table.one("section", aria_labelledby="epochs").one("table"))
    assert closed[3:] == ["accepted", f"{HOSTILE} ada"]


@pytest.mark.parametrize("path", ["charts/evidence.svg", "series/evidence"])
def test_only_who_may_look_sees_it(installation: Installation, visitors: Visitors, path: str) -> None:
    endpoint = installation.endpoints["fine"]
    assert visitors.stranger.client.get(f"/endpoints/{UNKNOWN}/{path}").status_code == 404
    visitors.add("alice", Role.VIEWER)
    answer = visitors.stranger.client.get(f"/endpoints/{endpoint.id}/{path}", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"][:8]) == (303, "/sign-in")


def test_the_overview_lists_who_changed_by_many_rounds(installation: Installation, visitors: Visitors) -> None:
    store, endpoints = installation.store, installation.endpoints
    assert visitors.stranger.get("/").all("section", aria_labelledby="changed") == []
    watch(store, endpoints["fine"], installation.now, lawful=4)
    (none,) = visitors.stranger.get("/").all("section", aria_labelledby="changed")
    assert "None of 1 watched endpoints is known to have changed by many rounds." in none.text

    watch(store, endpoints["drifting"], installation.now, lawful=6, moved=14)

    (found,) = visitors.stranger.get("/").all("section", aria_labelledby="changed")
    (line,) = found.all("li")
    assert line.text.startswith("acme / lark-30b as acme/lark-30b E ")
    assert line.one("a").attributes["href"] == f"/endpoints/{endpoints['drifting'].id}#evidence"
    assert "1 of 2 watched endpoints. On average at most 5 % of such a list did not change" in found.text
    assert "that holds at one time of looking, not for all ever listed." in found.text


def worth(number: int, e_value: float) -> EndpointWorth:
    return EndpointWorth(f"ep_{number}", "acme", "m", "m", e_value, StreamLevel.QUIET, held=False, at=None)


def test_endpoints_that_the_page_does_not_show_do_not_count() -> None:
    found = changed([worth(1, 30.0), worth(2, 1.0)], {"ep_1"})
    assert found is not None
    assert (found.watched, len(found.listed)) == (1, 1)
    both = changed([worth(1, 30.0), worth(2, 1.0)], {"ep_1", "ep_2"})
    assert both is not None
    assert (both.watched, len(both.listed)) == (2, 0)
    assert changed([worth(1, 30.0)], {None}) is None


@settings(max_examples=100)
@given(st.lists(st.floats(0.0, 1e12), min_size=1, max_size=30))
def test_every_listed_e_is_what_e_bh_asks_for(e_values: list[float]) -> None:
    every = [worth(number, value) for number, value in enumerate(e_values)]
    found = changed(every, {one.endpoint_id for one in every})
    assert found is not None
    needed = len(every) / (FALSE_SHARE * max(1, len(found.listed)))
    listed = [one.worth for one, _ in found.listed]
    assert all(value >= needed for value in listed)
    assert listed == sorted(listed, reverse=True)
    more = sorted(e_values, reverse=True)
    assert not any(more[k - 1] >= len(more) / (FALSE_SHARE * k) for k in range(len(listed) + 1, len(more) + 1))


@pytest.mark.parametrize(
    ("content", "caption"),
    [
        (chart(), "Nothing was added in this time."),
        (chart(0.98), "E was 0.98 last, below 20, from which on it is shown."),
        (chart(1.0, 250.0, 150.0), "E was 150 last, beyond 100: suspect. The highest of 3 looks was 250."),
        (
            chart(2.0, 1_500.0, looks=900, change=Change(NOON - 5 * HOUR, NOON - 3 * HOUR)),
            "E was 1,500 last, beyond 1,000: drift. The highest of 900 looks was 1,500. "
            "The change began between 2026-11-29 07:00 and 2026-11-29 09:00 UTC.",
        ),
    ],
)
def test_the_caption_says_the_finding(content: EvidenceChart, caption: str) -> None:
    assert content.caption == caption


def made(content: EvidenceChart) -> str:
    return str(of_evidence(content, Theme.LIGHT, Width.WIDE))


def test_e_is_drawn_on_a_logarithmic_axis_of_which_nothing_falls_out() -> None:
    found = made(chart(0.0, 3.0, 5e9))
    assert "'type': 'log'" in found
    assert f"'value': {LEAST}" in found
    (top,) = set(re.findall(r"'domain': \[0\.1, ([\d.e+]+)\]", found))
    assert float(top) == 1e10


def test_each_epoch_begins_at_one_and_has_its_line_and_number() -> None:
    epochs = (Begin(NOON - 60 * HOUR, 2), Begin(NOON - 9 * HOUR, 3), Begin(NOON - 400 * HOUR, 1))
    content = chart(5.0, 7.0, epochs=epochs)
    found = made(content)
    assert [mark.letter for mark in content.marks] == ["2", "3"]
    assert re.findall(r"'letter': '(\d)'", found) == ["2", "3"]
    rows = re.findall(r"'value': ([\d.]+), 'epoch': (\d)", found)
    assert rows[:4] == [("1.0", "2"), ("1.0", "3"), ("5.0", "3"), ("7.0", "3")]


def test_the_time_in_which_a_change_began_is_shaded() -> None:
    change = Change(NOON - 5 * HOUR, NOON - 3 * HOUR)
    assert "'type': 'rect'" not in made(chart(1.0))
    assert "'type': 'rect'" in made(chart(1.0, change=change))
    before = Change(NOON - 500 * HOUR, NOON - 400 * HOUR)
    assert "'type': 'rect'" not in made(chart(1.0, change=before))


def test_streams_without_levels_have_a_line_of_their_own_where_they_say_more() -> None:
    same = chart(2.0, 3.0)
    more = replace(same, steps=tuple(replace(step, value=40.0) for step in same.steps))
    assert made(same).count("'step-after'") == 1
    assert made(more).count("'step-after'") == 2


def test_charts_that_look_alike_have_one_digest() -> None:
    assert chart(1.0).digest == chart(1.0).digest
    different = {chart(1.0).digest, chart(2.0).digest, chart(1.0, epochs=(Begin(NOON, 1),)).digest}
    assert len(different) == 3


@pytest.mark.parametrize("width", Width)
def test_it_can_be_drawn(width: Width) -> None:
    content = chart(1.0, 2e3, proofs=(NOON - HOUR,), change=Change(NOON - 3 * HOUR, NOON - 2 * HOUR))
    assert drawn(content, Theme.DARK, width).startswith("<svg")
    assert drawn(chart(), Theme.LIGHT, width).startswith("<svg")

"""The pages in a real browser: light and dark, wide and narrow, without scripts, by keyboard, and all from one host."""

from __future__ import annotations

import os
import re
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from threading import Thread
from typing import Any, Literal
from urllib.parse import urlsplit

import pytest
import uvicorn
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from monitor import clock
from monitor.store import EndpointIdentity, EndpointRecord, Store
from monitor.store.alert_records import AlertFilter
from monitor.store.keyset import Window
from monitor.store.vocabulary import Role
from tests.dashboards.material import Found, Installation, story, work
from tests.dashboards.visitor import PASSWORD, Visitors
from tests.dashboards.watched import watch
from tests.monitor.store.beside import ONE_OF_FIVE, fleet

# A hang guard: what a page becomes is waited for.
expect.set_options(timeout=60_000)

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

# A machine of continuous integration installs one; a person's may lack it.
pytestmark = pytest.mark.skipif(
    CHROMIUM is None and not os.environ.get("CI"), reason="no chromium: apt-get install chromium"
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    assert CHROMIUM is not None, "The browser tests need chromium: apt-get install chromium"
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=CHROMIUM, args=list(_QUIET))


@pytest.fixture(scope="module")
def shown(template: tuple[Path, Installation], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    """An installation that is only looked at."""
    path, made = template
    copied = shutil.copy(path, tmp_path_factory.mktemp("shown") / "monitor.db")
    with Store.open(copied, at=clock.now()) as store, serving(Visitors(store)) as address:
        work(store, clock.now())
        _crowd(store)
        fleet(store, ONE_OF_FIVE, clock.now())
        yield Shown(replace(made, store=store, endpoints={**made.endpoints, **_watched(store)}), address)


def _crowd(store: Store) -> None:
    """More providers than a screen is wide, and names longer than a telephone is."""
    now = clock.now()
    for number in range(8):
        provider = "a-provider-whose-name-goes-on-and-on" if number == 0 else f"cloud-{number}"
        identity = EndpointIdentity(provider, "https://cloud.test/v1", "maverick-17b-128e-instruct-fp8-turbo", "m")
        story(store, identity, [Found(now - timedelta(hours=1))])


def _watched(store: Store) -> dict[str, EndpointRecord]:
    """An endpoint whose streams have just proven a drift, and one whose are quiet."""
    found, now = {}, clock.now()
    for name, moved in (("proven", 14), ("quiet", 0)):
        identity = EndpointIdentity(f"globex-{name}", "https://globex.test/v1", "wren-8b", "wren")
        found[name] = story(store, identity, [Found(now - timedelta(hours=1))])
        watch(store, found[name], now, lawful=24, moved=moved)
    return found


@pytest.fixture
def address(visitors: Visitors) -> Iterator[str]:
    with serving(visitors) as address:
        yield address


@dataclass(frozen=True)
class Shown:
    installation: Installation
    address: str


@contextmanager
def serving(visitors: Visitors) -> Iterator[str]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        config = uvicorn.Config(visitors.site, lifespan="off", log_config=None)
        server = uvicorn.Server(config)
        thread = Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


class Seen:
    """A page that remembers what it complained about and whom it asked."""

    def __init__(self, context: BrowserContext, address: str) -> None:
        self.page: Page = context.new_page()
        self.address = address
        self.complaints: list[str] = []
        self.page.on("console", lambda message: self._complain(message.type, message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self._asked(request.url))

    def _complain(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.complaints.append(text)

    def _asked(self, url: str) -> None:
        if urlsplit(url).netloc != urlsplit(self.address).netloc:
            self.complaints.append(f"asked {url}")

    def go(self, path: str) -> Page:
        self.page.goto(self.address + path)
        return self.page


@contextmanager
def seen(browser: Browser, address: str, **options: Any) -> Iterator[Seen]:
    # No colour is on its way to another one when it is looked at.
    context = browser.new_context(reduced_motion="reduce", **options)
    try:
        yield Seen(context, address)
    finally:
        context.close()


PAGES = (
    "overview",
    "problems",
    "alerts",
    "alert-drifting",
    "alert-hostile",
    "endpoint-drifting",
    "endpoint-hostile",
    "endpoint-new",
    "models/smol",
    "models/wren-8b",
    "endpoint-proven",
    "endpoint-quiet",
    "series",
    "looks",
    "refused",
    "sign-in",
    "setup",
)


LOOKS: tuple[tuple[Literal["light", "dark"], int], ...] = (("dark", 390), ("light", 1280))


def path_of(installation: Installation, name: str) -> str:
    kind, _, story = name.partition("-")
    endpoint = installation.endpoints.get(story)
    if kind == "alert" and endpoint is not None:
        return f"/alerts/{installation.alerts.list(Window(1), AlertFilter(endpoint_id=endpoint.id)).items[0].id}"
    if kind == "endpoint" and endpoint is not None:
        return f"/endpoints/{endpoint.id}"
    series = f"/endpoints/{installation.endpoints['drifting'].id}/series/fidelity"
    return {
        "looks": f"/endpoints/{installation.endpoints['proven'].id}/series/evidence",
        "overview": "/",
        "problems": "/?problems=1&filter=nothing",
        "alerts": "/alerts?show=all",
        "series": series,
        "refused": "/nothing",
        "setup": "/setup?token=any",
    }.get(name, f"/{name}")


def looked_at(page: Page, scheme: Literal["light", "dark"], width: int) -> None:
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 844})
    for image in page.locator("img").all():
        expect(image).to_have_js_property("complete", True)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_is_quiet_and_open_to_everybody(browser: Browser, shown: Shown, name: str) -> None:
    with seen(browser, shown.address) as visit:
        page = visit.go(path_of(shown.installation, name))
        for scheme, width in LOOKS:
            looked_at(page, scheme, width)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert page.evaluate("[...document.images].filter(image => !image.naturalWidth).length") == 0
            assert barriers(page) == []
        # A browser complains of the status that a refusal has.
        assert name == "refused" or visit.complaints == []


def test_five_providers_fit_beside_one_another(browser: Browser, shown: Shown) -> None:
    with seen(browser, shown.address, viewport={"width": 1280, "height": 844}) as visit:
        page = visit.go("/")
        page.evaluate("document.querySelectorAll('.matrix tr').forEach(r => { while (r.cells[6]) r.deleteCell(6) })")
        assert page.locator(".matrix thead th").count() == 6
        assert page.evaluate("(box => box.scrollWidth - box.clientWidth)(document.querySelector('.scroll'))") == 0


def barriers(page: Page) -> list[str]:
    """What axe says keeps people out, each with the first element that does."""
    found = Axe().run(page, options={}).response
    assert len(found["passes"]) > 10, "axe has not looked"
    return [f"{one['id']} ({one['impact']}): {one['nodes'][0]['html']}" for one in found["violations"]]


def test_charts_follow_the_theme_and_the_width(browser: Browser, shown: Shown) -> None:
    with seen(browser, shown.address, viewport={"width": 390, "height": 844}) as visit:
        page = visit.go(f"/endpoints/{shown.installation.endpoints['fine'].id}")
        for scheme, width in LOOKS:
            drawn = "narrow" if width == 390 else "wide"
            with page.expect_response(re.compile(rf"fidelity.*&theme={scheme}&width={drawn}")):
                looked_at(page, scheme, width)


def test_everything_works_without_scripts(
    browser: Browser, address: str, installation: Installation, visitors: Visitors
) -> None:
    visitors.add("alice", Role.OPERATOR)
    alert = installation.alerts.list(Window(1), AlertFilter(rule="drift", open=True, provider="acme")).items[0]
    with seen(browser, address, java_script_enabled=False) as visit:
        page = visit.go(f"/alerts/{alert.id}")
        page.fill("input[name=name]", "alice")
        page.fill("input[name=password]", PASSWORD)
        page.click("text=Sign in >> nth=-1")
        page.wait_for_url(f"**/alerts/{alert.id}")
        page.fill("form[action$='/ack'] input[name=text]", "on it")
        page.click("button:has-text('Acknowledge')")
        expect(page.locator("text=acknowledged by alice")).to_have_count(1)
        page.click("summary:has-text('Silence')")
        page.fill("form[action$='/silence'] input[name=text]", "they know")
        page.click("form[action$='/silence'] button")
        expect(page.locator(".heading >> text=silenced")).to_have_count(1)
        assert visit.complaints == []
    assert installation.alerts.show(alert.id).note == "on it"


def test_an_endpoint_is_reached_by_keyboard_with_the_focus_in_sight(browser: Browser, shown: Shown) -> None:
    with seen(browser, shown.address) as visit:
        page = visit.go("/")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
        for _ in range(40):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.matches('.cell a')"):
                break
        ring = page.evaluate("getComputedStyle(document.activeElement, '::after').outlineStyle")
        assert ring == "solid"
        page.keyboard.press("Enter")
        page.wait_for_url("**/endpoints/ep_*")
        assert visit.complaints == []


def test_the_overview_renews_itself_while_it_is_open(
    browser: Browser, address: str, installation: Installation
) -> None:
    with seen(browser, address) as visit:
        visit.page.clock.install()
        page = visit.go("/")
        assert page.locator(".cell .badge:has-text('drift')").count() == 1
        alert = installation.alerts.list(Window(1), AlertFilter(provider="acme", open=True)).items[0]
        installation.alerts.resolve(alert.id, actor="test", at=installation.now)
        with page.expect_response(lambda answer: urlsplit(answer.url).path == "/"):
            page.clock.run_for(31_000)
        expect(page.locator(".count").first).to_have_text(re.compile(r"^\s*2"))
        assert visit.complaints == []

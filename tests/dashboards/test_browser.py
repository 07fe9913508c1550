"""The pages in a real browser: light and dark, wide and narrow, without scripts, by keyboard, and all from one host."""

from __future__ import annotations

import os
import re
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import pytest
import uvicorn
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from monitor.store.alert_records import AlertFilter
from monitor.store.keyset import Window
from monitor.store.vocabulary import Role
from tests.dashboards.material import Installation
from tests.dashboards.visitor import PASSWORD, Visitors

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


@pytest.fixture
def address(visitors: Visitors) -> Iterator[str]:
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
    context = browser.new_context(**options)
    try:
        yield Seen(context, address)
    finally:
        context.close()


def paths(installation: Installation) -> dict[str, str]:
    found = {f"alert-{one.rule}": f"/alerts/{one.id}" for one in installation.alerts.list(Window(10)).items}
    found |= {f"endpoint-{story}": f"/endpoints/{one.id}" for story, one in installation.endpoints.items()}
    series = f"/endpoints/{installation.endpoints['drifting'].id}/series/fidelity"
    return {
        "overview": "/",
        "alerts": "/alerts?show=all",
        "series": series,
        "sign-in": "/sign-in",
        "setup": "/setup",
        **found,
    }


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_every_page_is_quiet_whole_and_fits(
    browser: Browser, address: str, installation: Installation, tmp_path: Path, scheme: str, width: int
) -> None:
    with seen(browser, address, color_scheme=scheme, viewport={"width": width, "height": 844}) as visit:
        for name, path in paths(installation).items():
            page = visit.go(path)
            page.screenshot(path=tmp_path / f"{name}-{scheme}-{width}.png", full_page=True)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, name
            broken = page.evaluate("[...document.images].filter(image => !image.naturalWidth).map(image => image.src)")
            assert broken == [], name
            headings = page.evaluate("[...document.querySelectorAll('h1,h2,h3')].map(h => +h.tagName[1])")
            assert headings.count(1) == 1, name
            assert page.locator("main").count() == 1
            assert page.evaluate("document.documentElement.lang") == "en"
        assert visit.complaints == []


def test_charts_follow_the_theme_and_the_width(browser: Browser, address: str, installation: Installation) -> None:
    path = f"/endpoints/{installation.endpoints['fine'].id}"
    chosen = set()
    for scheme in ("light", "dark"):
        for width in (1280, 390):
            with seen(browser, address, color_scheme=scheme, viewport={"width": width, "height": 844}) as visit:
                image = visit.go(path).locator("figure img").first
                chosen.add(urlsplit(image.evaluate("image => image.currentSrc")).query.split("&theme=")[1])
    assert chosen == {"light&width=wide", "light&width=narrow", "dark&width=wide", "dark&width=narrow"}


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


def test_an_endpoint_is_reached_by_keyboard_with_the_focus_in_sight(browser: Browser, address: str) -> None:
    with seen(browser, address) as visit:
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

"""The rules that hold between the keys of schedules, channels, routes and maintenance windows.

Like monitor/config/rules.py, they read the plain document.
"""

from __future__ import annotations

from collections.abc import Iterator

from monitor.config.asking import LEAST_N
from monitor.config.base_url import forbidden_base_url, split_url
from monitor.config.places import Finding, Place, PlainSection, places, repeated
from monitor.config.service import DEFAULT_SCHEDULE
from monitor.config.suggestion import suggestion

LISTS = ("schedules", "rules", "channels", "routes", "maintenance")


def broken_service_rules(document: PlainSection) -> Iterator[Finding]:
    """Each broken rule: the key it is about, and a sentence about it."""
    found = {key: list(places(document.get(key), (key,))) for key in LISTS}
    for key in LISTS:
        yield from repeated(found[key], "id")
    for schedule in found["schedules"]:
        yield from _schedule(schedule)
    for channel in found["channels"]:
        yield from _channel(channel)
    channels = [name for place in found["channels"] if isinstance(name := place.section.get("id"), str)]
    for route in found["routes"]:
        yield from _route(route, channels)
    for window in found["maintenance"]:
        yield from _maintenance(window)


def _schedule(place: Place) -> Iterator[Finding]:
    section = place.section
    every, cron = section.get("every"), section.get("cron")
    if section.get("id") == DEFAULT_SCHEDULE:
        yield (*place.path, "id"), f"'{DEFAULT_SCHEDULE}' is the schedule that defaults make; choose another"
    if every is None and cron is None:
        yield place.path, "needs every or cron"
    elif every is not None and cron is not None:
        yield (*place.path, "cron"), "is set beside every; keep one"
    if cron is None and section.get("tz") is not None:
        yield (*place.path, "tz"), "needs cron; every is the same in all time zones"
    if every is None and cron is not None and section.get("jitter") is not None:
        yield (*place.path, "jitter"), "needs every; cron comes due to the minute"
    asked, n = section.get("probes") or ("logprobs",), section.get("n")
    if isinstance(n, int) and n < LEAST_N and ("logprobs" in asked or "accounting" in asked):
        yield (*place.path, "n"), f"of logprobs and accounting is {LEAST_N} at least"
    if section.get("load") is not None and "latency" not in (section.get("probes") or ("latency",)):
        yield (*place.path, "load"), "needs latency among the probes; nothing else is asked under a load"


def _channel(place: Place) -> Iterator[Finding]:
    section = place.section
    if section.get("kind", "webhook") == "apprise":
        yield from _apprise(place)
        return
    secret, previous = section.get("secret"), section.get("previous_secret")
    if section.get("format", "standard") == "standard" and secret is None:
        yield (
            place.path,
            "needs secret, a reference to the key that signs format standard; `monitor webhook secret` makes one",
        )
    if previous is not None and secret is None:
        yield (*place.path, "previous_secret"), "needs secret, the one that replaces it"
    yield from _address(place)


def _apprise(place: Place) -> Iterator[Finding]:
    url = place.section.get("url")
    if isinstance(url, str) and "${" not in url:
        yield (*place.path, "url"), "of kind apprise holds a credential: write ${env:NAME} or ${file:PATH}"
    for key in ("secret", "previous_secret", "format"):
        if place.section.get(key) is not None:
            yield (*place.path, key), "is for kind webhook; apprise has none"


def _address(place: Place) -> Iterator[Finding]:
    url, allow_private = place.section.get("url"), place.section.get("allow_private", False)
    if not isinstance(url, str) or not isinstance(allow_private, bool) or "${" in url:
        return
    try:
        if not split_url(url).hostname:
            return
        forbidden = forbidden_base_url(url, allow_private=allow_private)
    except ValueError:
        return
    if forbidden is not None:
        yield (*place.path, "url"), f"may not be sent to: {forbidden.reason}. {forbidden.remedy}"


def _route(place: Place, channels: list[str]) -> Iterator[Finding]:
    to = place.section.get("to")
    if not isinstance(to, list):
        return
    for index, name in enumerate(to):
        if isinstance(name, str) and name not in channels:
            yield (*place.path, "to", index), f"is not among the channels; {suggestion(name, channels)}"
        elif name in to[:index]:
            yield (*place.path, "to", index), "is there twice; keep one"


def _maintenance(place: Place) -> Iterator[Finding]:
    starts, rule = place.section.get("starts"), place.section.get("rrule")
    if starts is None and rule is None:
        yield place.path, "needs starts or rrule"
    if starts is None and isinstance(rule, str) and ("COUNT=" in rule or "INTERVAL=" in rule):
        yield (*place.path, "rrule"), "needs starts, from which COUNT and INTERVAL count"

"""Is it us? Whether anything can be reached at all; while nothing can, no provider is blamed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from monitor import clock
from probes.address import PRIVATE_TOO, AddressPolicy, policy_for
from probes.errors import ProbeError

if TYPE_CHECKING:
    from monitor.worker.configured import Configured
    from monitor.worker.context import Context

# Both in the table of settings: what the canary found, and when it was run last.
CONNECTIVITY = "connectivity"
_TIMEOUT_S = 3.0
_FRESH_S = 5.0
# One host that is away is its own affair.
_FEWEST_HOSTS = 2
_MOST_HOSTS = 6
# Of the time between two looks: a canary may be late, or missed.
_WORTH_PART = 5.0
_WORTH = timedelta(minutes=5)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Connectivity:
    """`since`: when nothing could be reached for the first time in a row. After `worth` the look says nothing more: the
    canary has stopped."""

    at: datetime
    since: datetime | None = None
    worth: timedelta = _WORTH

    @property
    def offline(self) -> bool:
        """What was seen."""
        return self.since is not None

    def offline_at(self, now: datetime) -> bool:
        """Whether that is what is known now."""
        return self.offline and now - self.at <= self.worth

    @classmethod
    def from_json(cls, stored: Any) -> Connectivity | None:
        if not isinstance(stored, dict):
            return None
        since, worth = stored.get("since"), stored.get("worth_s")
        return cls(
            datetime.fromisoformat(stored["at"]),
            None if since is None else datetime.fromisoformat(since),
            _WORTH if worth is None else timedelta(seconds=worth),
        )

    def to_json(self) -> dict[str, Any]:
        since = None if self.since is None else self.since.isoformat()
        return {"at": self.at.isoformat(), "since": since, "worth_s": self.worth.total_seconds()}


def canary(context: Context) -> Connectivity:
    """Look, and write down what was seen."""
    before = connectivity(context)
    reached = asyncio.run(_any_reached(_hosts(context)))
    now = clock.now()
    since = None if reached else (before and before.since) or now
    found = Connectivity(now, since, timedelta(seconds=_WORTH_PART * context.settings.canary_seconds))
    if before is None or before.offline != found.offline:
        _log.warning("The service is %s.", "offline" if found.offline else "online")
    context.beats.put_setting(CONNECTIVITY, found.to_json(), now)
    return found


def connectivity(context: Context) -> Connectivity | None:
    """What the last look found, None before the first."""
    return Connectivity.from_json(context.beats.setting(CONNECTIVITY))


def is_offline(context: Context, error: ProbeError) -> bool:
    """Whether a provider that could not be reached is to blame on us: looked at anew unless that was just done."""
    if error.code != ProbeError.code:
        return False
    last = connectivity(context)
    if last is None or abs((clock.now() - last.at).total_seconds()) > _FRESH_S:
        last = canary(context)
    return last.offline


def _hosts(context: Context) -> list[tuple[str, AddressPolicy]]:
    """The hosts to try as URLs: those of the settings, or the public ones of the providers."""
    named = [host.strip() for host in context.settings.canary_hosts.split(",") if host.strip()]
    if named:
        return [(f"https://{host}/", PRIVATE_TOO) for host in named]
    return [(url, policy_for(allow_private=False)) for url in _provider_hosts(context.configured())]


def _provider_hosts(configured: Configured) -> list[str]:
    public = [one.config.base_url for one in configured.endpoints.values() if not one.config.allow_private]
    urls = dict.fromkeys(f"https://{urlsplit(url).netloc}/" for url in public)
    return list(urls)[:_MOST_HOSTS]


async def _any_reached(hosts: Sequence[tuple[str, AddressPolicy]]) -> bool:
    """True as well where there are too few hosts to tell."""
    if len(hosts) < _FEWEST_HOSTS:
        return True
    # Here, for a web process that shows what was found.
    from probes.transport import connects

    return any(await asyncio.gather(*(connects(url, policy, _TIMEOUT_S) for url, policy in hosts)))

"""A test message: to see whether a channel works."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from monitor.deliveries.attempt import Tried
from monitor.deliveries.destination import format_of, resolve_destination
from monitor.deliveries.formats import render
from monitor.deliveries.notice import Notice, NoticeType, Reason
from monitor.store.ids import new_id

if TYPE_CHECKING:
    from monitor.config.service import Channel


def trial_notice(channel: Channel, at: datetime, external_url: str) -> Notice:
    return Notice(NoticeType.TEST, Reason.TEST, at, channel.id, NoticeType.TEST.value, external_url=external_url)


def send_test(channel: Channel, at: datetime, *, external_url: str = "") -> Tried:
    """One try, at once and by itself, so that it says whether the channel works now. Raises SecretError, ConfigError or
    UsageError for a channel that cannot be used."""
    # Here: an API that queues the message is not to load what sends it.
    from monitor.deliveries.sender import send

    destination = resolve_destination(channel)
    notice = trial_notice(channel, at, external_url)
    return send(destination, new_id("msg", at), render(notice, format_of(channel)), at)

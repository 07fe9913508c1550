"""Channels of kind `apprise`: e-mail and a hundred services, by the library's URLs.

Apprise opens its own connections, which the guard against forbidden addresses does not see. So its URLs come from the
one who runs the service alone: by reference, from the environment or a file.
"""

from __future__ import annotations

import logging

from monitor import clock
from monitor.deliveries.attempt import Tried
from monitor.deliveries.destination import Destination
from monitor.deliveries.formats import Body

TIMEOUT_S = 30.0
# What a web receiver would have answered.
_DELIVERED = 200

# Its warnings hold parts of URLs and answers.
logging.getLogger("apprise").setLevel(logging.CRITICAL)


def send(destination: Destination, body: Body) -> Tried:
    """Hand the message to Apprise, which works in a thread of its own and is left behind when it takes too long."""
    # It loads a hundred plug-ins.
    from apprise import Apprise
    from apprise.result import AppriseResultStatus

    started = clock.monotonic()
    service = Apprise()
    if not service.add(destination.url.get_secret_value()):
        return Tried(error="Apprise does not know this kind of URL.")
    title, _, text = body.content.decode().partition("\n\n")
    status = service.notify(body=text or title, title=title, timeout=TIMEOUT_S).status
    milliseconds = (clock.monotonic() - started) * 1000
    if status is AppriseResultStatus.SUCCESS:
        return Tried(http_status=_DELIVERED, milliseconds=milliseconds)
    if status is AppriseResultStatus.TIMEOUT:
        return Tried(error=f"The service did not take the message within {TIMEOUT_S:g} s.", milliseconds=milliseconds)
    return Tried(error="The service did not take the message.", milliseconds=milliseconds)

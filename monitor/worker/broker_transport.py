"""The connection to the broker, so closed that a worker outlives a broker that goes away."""

from __future__ import annotations

from typing import Any

from kombu.transport import redis as kombu_redis
from redis.exceptions import ConnectionError as BrokerConnectionError


class Channel(kombu_redis.Channel):
    """A channel that says so when its connection is closed, with an error that Celery and kombu know.

    When the broker goes away while messages wait for their acknowledgement, Celery closes each connection twice; kombu
    5.7 then opens a pool for a connection that it has let go, and the AttributeError ends the worker.
    """

    def _connparams(self, asynchronous: bool = False) -> dict[str, Any]:
        if self.connection is None or self.connection.client is None:
            raise BrokerConnectionError("the connection to the broker is closed")
        parameters: dict[str, Any] = kombu_redis.Channel._connparams(self, asynchronous)
        return parameters


class Transport(kombu_redis.Transport):
    """For every URL of a broker that `kombu.transport.redis` serves."""

    Channel = Channel

"""Which row an endpoint of the configuration has."""

from __future__ import annotations

import json

from monitor.config import EndpointConfig
from monitor.store import EndpointIdentity, EndpointRecord

# What makes an entry of the configuration and a row the same endpoint.
Key = tuple[str, str, str, str]


def identity_of(endpoint: EndpointConfig) -> EndpointIdentity:
    return EndpointIdentity(
        provider_slug=endpoint.provider,
        base_url=endpoint.base_url,
        model_slug=endpoint.model,
        served_name=endpoint.name,
        routing={} if endpoint.routing is None else endpoint.routing.body(),
        labels=endpoint.labels,
        provider_was=endpoint.provider_was,
        model_was=endpoint.model_was,
    )


def key_of(record: EndpointRecord) -> Key:
    return record.provider, record.model, record.served_name, json.dumps(record.routing, sort_keys=True)


def key_of_entry(entry: EndpointConfig) -> Key:
    identity = identity_of(entry)
    routing = json.dumps(identity.routing, sort_keys=True)
    return identity.provider_slug, identity.model_slug, identity.served_name, routing

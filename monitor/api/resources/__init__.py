"""The routes under /api/v1, one file for each kind of resource."""

from __future__ import annotations

from monitor.api.resources import (
    alerts,
    baselines,
    changes,
    channel_trial,
    checks,
    config,
    consensus,
    deliveries,
    endpoints,
    export,
    metrics,
    provider_check,
    runs,
    silences,
    status,
    streams,
    tokens,
)
from monitor.api.resources.config_objects import router_of
from monitor.store.vocabulary import ConfigKind

ROUTERS = (
    router_of(ConfigKind.PROVIDER, "providers"),
    provider_check.router,
    router_of(ConfigKind.MODEL, "models"),
    consensus.router,
    router_of(ConfigKind.SCHEDULE, "schedules"),
    router_of(ConfigKind.RULE, "rules"),
    router_of(ConfigKind.CHANNEL, "channels"),
    channel_trial.router,
    router_of(ConfigKind.ROUTE, "routes"),
    router_of(ConfigKind.MAINTENANCE, "maintenance-windows", writable=False),
    endpoints.router,
    baselines.router,
    checks.router,
    runs.router,
    metrics.router,
    streams.router,
    alerts.router,
    silences.router,
    deliveries.router,
    changes.router,
    config.router,
    export.router,
    tokens.router,
    status.router,
)

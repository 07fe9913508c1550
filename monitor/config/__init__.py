"""`providers.yaml`: which endpoints there are, what they should be, and how they may be asked."""

from __future__ import annotations

from monitor.config.endpoint import EndpointConfig, ReferenceConfig
from monitor.config.load import Config, Inspected, inspect_config, load_config, may_be_there
from monitor.config.problems import Problem
from monitor.config.schema import Prices, Provider, Routing, Slo
from monitor.config.suggestion import suggestion

__all__ = [
    "Config",
    "EndpointConfig",
    "Inspected",
    "Prices",
    "Problem",
    "Provider",
    "ReferenceConfig",
    "Routing",
    "Slo",
    "inspect_config",
    "load_config",
    "may_be_there",
    "suggestion",
]

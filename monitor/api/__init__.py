"""The HTTP API: `create_api` over an `ApiState`."""

from __future__ import annotations

from monitor.api.app import create_api
from monitor.api.state import ApiState

__all__ = ["ApiState", "create_api"]

"""The service's branch of the error tree: usage, configuration, storage."""

from __future__ import annotations

from reference_engine.errors import CodedError


class MonitorError(CodedError):
    """Root of the service's own errors."""


class UsageError(MonitorError):
    code = "usage"
    status = 400
    exit_code = 2


class ConfigError(MonitorError):
    code = "config_invalid"
    status = 422
    exit_code = 2


class SecretError(ConfigError):
    code = "secret_missing"


class StorageError(MonitorError):
    code = "database_unavailable"
    status = 503
    exit_code = 6


class SchemaVersionError(StorageError):
    code = "schema_version"


class BudgetError(MonitorError):
    code = "budget_exhausted"
    status = 429
    exit_code = 4

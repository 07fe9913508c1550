"""Column types that keep facts exact on SQLite and PostgreSQL alike: aware UTC times, finite numbers, enums as text."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import JSON, BigInteger, DateTime, Dialect, Double, Enum, Integer
from sqlalchemy.types import TypeDecorator

from monitor.errors import StorageError

# SQLite increments only a key declared INTEGER.
BIG_KEY = BigInteger().with_variant(Integer, "sqlite")


class UtcDateTime(TypeDecorator[datetime]):
    """An aware datetime, stored and returned in UTC. A naive one is refused with StorageError."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        if value is None:
            return None
        if value.utcoffset() is None:
            raise StorageError(
                f"The time {value.isoformat()} has no time zone.", remedy="Pass an aware datetime, in UTC if possible."
            )
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class FiniteFloat(TypeDecorator[float]):
    """A float64. NaN and the infinities are refused with StorageError: SQLite would store NaN as NULL, unasked."""

    impl = Double
    cache_ok = True

    def process_bind_param(self, value: float | None, dialect: Dialect) -> float | None:  # noqa: ARG002
        if value is None:
            return None
        if not math.isfinite(value):
            raise StorageError(f"The number {value} cannot be stored.", remedy="Store None where there is no number.")
        return float(value)


class Json(TypeDecorator[Any]):
    """A JSON value. Anything else, NaN included, is refused with StorageError: some drivers look only while they send,
    others not at all."""

    impl = JSON
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> Any:  # noqa: ARG002
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise StorageError(f"A value cannot be stored as JSON: {error}.", remedy="Give JSON values.") from error
        return value


def word(vocabulary: type[StrEnum], constraint: str) -> Enum:
    """A column of words of `vocabulary`: text with a CHECK named `constraint` (the table's name is put before it)."""
    return Enum(
        vocabulary,
        name=constraint,
        native_enum=False,
        create_constraint=True,
        length=16,
        values_callable=lambda words: [member.value for member in words],
    )

"""Rows as JSON lines, CSV or Parquet, written while they are read."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

Row = Mapping[str, Any]
Chunks = Iterable[Sequence[Row]]


class Kind(StrEnum):
    """What a column holds."""

    TEXT = "text"
    INTEGER = "integer"
    NUMBER = "number"
    TRUTH = "truth"
    TIME = "time"
    TEXTS = "texts"


Columns = Mapping[str, Kind]

# A spreadsheet would run what begins with one of these.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")


def json_lines(columns: Columns, chunks: Chunks) -> Iterator[bytes]:
    for chunk in chunks:
        lines = [json.dumps({name: _json(row[name]) for name in columns}, separators=(",", ":")) for row in chunk]
        yield ("\n".join(lines) + "\n").encode("ascii")


def csv_text(columns: Columns, chunks: Chunks) -> Iterator[bytes]:
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer)
    writer.writerow(columns)
    for chunk in chunks:
        writer.writerows([_cell(row[name], kind) for name, kind in columns.items()] for row in chunk)
        yield _taken(buffer)
    yield _taken(buffer)


def parquet(columns: Columns, chunks: Chunks) -> Iterator[bytes]:
    # Half a second and 60 MB that only this format needs.
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    types = {
        Kind.TEXT: pa.string(),
        Kind.INTEGER: pa.int64(),
        Kind.NUMBER: pa.float64(),
        Kind.TRUTH: pa.bool_(),
        Kind.TIME: pa.timestamp("us", tz="UTC"),
        Kind.TEXTS: pa.list_(pa.string()),
    }
    schema = pa.schema([(name, types[kind]) for name, kind in columns.items()])
    sink = _Sink()
    with ParquetWriter(pa.PythonFile(sink, mode="w"), schema, compression="zstd") as writer:
        for chunk in chunks:
            rows = [{name: _plain(row[name]) for name in columns} for row in chunk]
            writer.write_table(pa.Table.from_pylist(rows, schema=schema))
            yield sink.taken()
    yield sink.taken()


class _Sink(io.RawIOBase):
    """A file that is read while it is written."""

    def __init__(self) -> None:
        super().__init__()
        self._waiting = bytearray()
        self._written = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._waiting += data
        self._written += len(data)
        return len(data)

    def tell(self) -> int:
        return self._written

    def taken(self) -> bytes:
        taken, self._waiting = bytes(self._waiting), bytearray()
        return taken


def _taken(buffer: io.StringIO) -> bytes:
    text = buffer.getvalue()
    buffer.seek(0)
    buffer.truncate()
    return text.encode("utf-8", errors="replace")


def _plain(value: Any) -> Any:
    if isinstance(value, StrEnum):
        return value.value
    return list(value) if isinstance(value, tuple) else value


def _json(value: Any) -> Any:
    return _time(value) if isinstance(value, datetime) else _plain(value)


def _cell(value: Any, kind: Kind) -> Any:
    if value is None:
        return ""
    if kind is Kind.TIME:
        return _time(value)
    if kind is Kind.TEXTS:
        return guarded(";".join(value))
    return guarded(str(_plain(value))) if kind is Kind.TEXT else value


def guarded(text: str) -> str:
    """Text that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text


def _time(value: datetime) -> str:
    return value.astimezone(UTC).isoformat().replace("+00:00", "Z")

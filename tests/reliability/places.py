"""Every place where something of a service can be seen, as text: tables, the API, exports."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from urllib.parse import unquote

import pyarrow.parquet as pq
import zstandard
from sqlalchemy import select

from monitor.store.frames import decompress
from monitor.store.tables import Table
from tests.monitor.api.served import api_over
from tests.reliability.service import Service

_LISTS = (
    "endpoints checks runs alerts silences deliveries change-events baselines tokens audit providers models schedules "
    "rules channels routes maintenance-windows config status channel-health"
)
_WITHOUT_ITEMS = ("change-events", "baselines", "audit")
_MOST_BYTES = 64 * 1024 * 1024


def tables(service: Service) -> Iterator[tuple[str, str]]:
    """Every table with all its columns."""
    with service.store.sessions.read() as session:
        for table in Table.metadata.sorted_tables:
            rows = session.execute(select(table)).all()
            yield table.name, "\n".join(str(tuple(map(_shown, row))) for row in rows)


def answers(service: Service) -> Iterator[tuple[str, str]]:
    """Every GET of the API, with whatever is there to be seen, and every export."""
    client = api_over(service.store).as_("admin")
    for name in _LISTS.split():
        listed = client.get(f"/api/v1/{name}?limit=500" if name not in ("config", "status") else f"/api/v1/{name}")
        assert listed.status_code == 200, listed.text
        yield name, listed.text
        for item in _items_of(listed.json()):
            for address in _addresses(name, item):
                yield address, client.get(address).text
    for table in ("runs", "samples", "series"):
        yield f"{table}.jsonl", client.get(f"/api/v1/export/{table}.jsonl").text
        yield f"{table}.csv", client.get(f"/api/v1/export/{table}.csv").text
        parquet = client.get(f"/api/v1/export/{table}.parquet").content
        yield f"{table}.parquet", str(pq.read_table(io.BytesIO(parquet)).to_pylist())


def meant(text: str) -> str:
    """The text, and what whoever reads it as JSON, as HTML or as a URL makes of it."""
    return "\n".join((text, _unescaped(text), html.unescape(text), unquote(text)))


def _unescaped(text: str) -> str:
    plain = re.sub(r"\\u([0-9a-fA-F]{4})", lambda found: chr(int(found[1], 16)), text)
    return plain.replace("\\n", "\n").replace('\\"', '"').replace("\\/", "/")


def _shown(value: Any) -> str:
    return _unpacked(value).decode("utf-8", errors="replace") if isinstance(value, bytes) else str(value)


def _unpacked(blob: bytes) -> bytes:
    """What is in a blob that is compressed, with or without four bytes that say what it is."""
    for start in (0, 4):
        with suppress(zstandard.ZstdError):
            return decompress(blob[start:], at_most=_MOST_BYTES)
    return blob


def _items_of(document: Any) -> list[dict[str, Any]]:
    if isinstance(document, list):
        return []
    found: list[dict[str, Any]] = document.get("items", [])
    return found


def _addresses(name: str, item: dict[str, Any]) -> list[str]:
    parts = {
        "runs": ("", "/samples"),
        "alerts": ("", "/events"),
        "deliveries": ("", "/attempts"),
        "checks": ("", "/events"),
    }
    if name in _WITHOUT_ITEMS:
        return []
    return [f"/api/v1/{name}/{item.get('id') or item['slug']}{part}" for part in parts.get(name, ("",))]

"""Exports: all rows in each format, and no cell that a spreadsheet would run."""

from __future__ import annotations

import csv
import io
import json

import pyarrow.parquet as pq
import pytest

from monitor.api.export_formats import guarded
from monitor.store import EndpointRecord, export
from tests.monitor.api.served import Api, assert_problem
from tests.monitor.store.material import AT, finished_run, later, sample, start


@pytest.fixture
def filled(api: Api, endpoint: EndpointRecord, monkeypatch: pytest.MonkeyPatch) -> Api:
    """Seven samples in one run, five finished runs; read two rows at a time."""
    monkeypatch.setattr(export, "CHUNK", 2)
    run_id = api.store.begin_run(start(endpoint.id), at=AT)
    keys = ["=HYPERLINK(1)", "+1", "-1", "@x", "plain", "f", "g"]
    api.store.add_samples(run_id, [sample(key) for key in keys], at=AT)
    for number in range(5):
        finished_run(api.store, endpoint.id, later(number))
    return api


@pytest.mark.parametrize(("table", "rows"), [("samples", 7), ("runs", 6), ("series", 5)])
def test_every_format_has_every_row_once(filled: Api, table: str, rows: int) -> None:
    client = filled.anonymous
    lines = [json.loads(line) for line in client.get(f"/api/v1/export/{table}.jsonl").text.splitlines()]
    cells = list(csv.DictReader(io.StringIO(client.get(f"/api/v1/export/{table}.csv").text, newline="")))
    parquet = pq.read_table(io.BytesIO(client.get(f"/api/v1/export/{table}.parquet").content)).to_pylist()

    assert [len(found) for found in (lines, cells, parquet)] == [rows] * 3
    ids = [line["id"] for line in lines]
    assert len(set(ids)) == rows
    assert [row["id"] for row in parquet] == ids
    assert [row["id"] for row in cells] == [str(each) for each in ids]


def test_a_cell_that_would_be_a_formula_is_text(filled: Api) -> None:
    text = filled.anonymous.get("/api/v1/export/samples.csv").text
    keys = [row["item_key"] for row in csv.DictReader(io.StringIO(text, newline=""))]
    assert keys == ["'=HYPERLINK(1)", "'+1", "'-1", "'@x", "plain", "f", "g"]
    assert guarded("\t=1") == "'\t=1"


def test_nothing_private_is_exported(filled: Api) -> None:
    for table in ("samples", "runs", "series"):
        assert "private prompt" not in filled.anonymous.get(f"/api/v1/export/{table}.jsonl").text


def test_an_export_is_of_one_endpoint_and_time(filled: Api, endpoint: EndpointRecord) -> None:
    address = f"/api/v1/export/runs.jsonl?endpoint={endpoint.id}&from=2026-11-29T12:03:00Z"
    assert len(filled.anonymous.get(address).text.splitlines()) == 2
    assert filled.anonymous.get(f"{address}&to=2026-11-29T12:03:00Z").text == ""


@pytest.mark.parametrize("name", ["samples.xml", "secrets.csv"])
def test_what_cannot_be_exported(filled: Api, name: str) -> None:
    assert_problem(filled.anonymous.get(f"/api/v1/export/{name}"), 422, "request_invalid")

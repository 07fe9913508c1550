"""Exports: runs, samples (facts only) and series as JSON lines, CSV or Parquet, streamed."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from itertools import chain
from typing import Annotated

from fastapi import APIRouter, Path, Query
from fastapi.responses import StreamingResponse

from monitor.api.export_formats import Columns, Kind, csv_text, json_lines, parquet
from monitor.api.needs import READS, State, problems
from monitor.api.shapes import METRIC, EndpointFilter, Since, Until
from monitor.store.export import Export, Wanted

router = APIRouter(prefix="/export", tags=["export"])


class Table(StrEnum):
    """What can be exported."""

    RUNS = "runs"
    SAMPLES = "samples"
    SERIES = "series"


class Format(StrEnum):
    """How it is written."""

    JSONL = "jsonl"
    CSV = "csv"
    PARQUET = "parquet"


_MEDIA = {Format.JSONL: "application/jsonl", Format.CSV: "text/csv", Format.PARQUET: "application/vnd.apache.parquet"}
_WRITERS = {Format.JSONL: json_lines, Format.CSV: csv_text, Format.PARQUET: parquet}


def _columns(text: str = "", integer: str = "", number: str = "", truth: str = "", time: str = "") -> dict[str, Kind]:
    groups = {Kind.TEXT: text, Kind.INTEGER: integer, Kind.NUMBER: number, Kind.TRUTH: truth, Kind.TIME: time}
    return {name: kind for kind, names in groups.items() for name in names.split()}


COLUMNS: dict[Table, Columns] = {
    Table.RUNS: _columns(
        text="id check_id endpoint_id probe trigger status error_code suite_sha256 suite_version config_digest "
        "code_version reference_fingerprint served_fingerprint",
        integer="planned n_ok n_bad n_err tokens_in tokens_out n_without_usage cost_microusd",
        time="started_at finished_at",
    ),
    Table.SAMPLES: {
        **_columns(integer="id", text="run_id endpoint_id", time="created_at sent_at"),
        **_columns(
            text="item_key outcome error_code finish_reason provider_request_id response_sha256",
            integer="rep attempts http_status tokens_in tokens_out tokens_cached",
            truth="anchor first_attempt_ok",
            number="ttft_ms total_ms",
        ),
        "quirks": Kind.TEXTS,
    },
    Table.SERIES: _columns(
        integer="id n", text="endpoint_id run_id metric", time="at", number="value ci_low ci_high ci_level"
    ),
}


@router.get(
    "/{table}.{format}",
    dependencies=[READS],
    response_class=StreamingResponse,
    responses={
        **problems(404),
        200: {
            "description": "The rows; an error that comes up on the way cuts the answer short.",
            "content": {media: {"schema": {"type": "string"}} for media in _MEDIA.values()},
        },
    },
)
def export(
    state: State,
    table: Annotated[Table, Path()],
    format: Annotated[Format, Path()],  # noqa: A002 - the API's word
    endpoint: EndpointFilter = None,
    metric: Annotated[str | None, Query(pattern=METRIC, description="of series: only this one")] = None,
    since: Since = None,
    until: Until = None,
) -> StreamingResponse:
    """Never prompts or answers. In CSV, text that a spreadsheet would take for a formula begins with an apostrophe."""
    wanted = Wanted(endpoint, metric, since, until)
    rows = Export(state.store.sessions)
    chunks = {Table.RUNS: rows.runs, Table.SAMPLES: rows.samples, Table.SERIES: rows.points}[table](wanted)
    written = _WRITERS[format](COLUMNS[table], chunks)
    headers = {"Content-Disposition": f'attachment; filename="{table.value}.{format.value}"'}
    return StreamingResponse(_begun(written), media_type=_MEDIA[format], headers=headers)


def _begun(parts: Iterator[bytes]) -> Iterator[bytes]:
    """The same parts, the first of them made already: a database that fails does so before the answer begins."""
    return chain([next(parts, b"")], parts)

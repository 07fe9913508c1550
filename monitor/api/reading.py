"""Two plain pages for people who meet the API: its routes, and its errors. No script, nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

from fastapi import FastAPI
from fastapi.responses import HTMLResponse

from monitor.api.problem import title_of
from reference_engine.errors import CodedError

_PAGE = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    "<title>{title}</title><style>body{{font:1rem/1.5 system-ui;max-width:60rem;margin:2rem auto;padding:0 1rem}}"
    "td,th{{text-align:left;padding:.2rem 1rem .2rem 0;vertical-align:top}}</style><h1>{title}</h1>{body}</html>"
)


def add_pages(app: FastAPI) -> None:
    @app.get("/api", include_in_schema=False)
    def routes() -> HTMLResponse:
        intro = '<p><a href="/openapi.json">openapi.json</a> · <a href="/api/errors">errors</a></p>'
        return _page("Routes", intro + _table(("route", "what it does"), _routes(app.openapi())))

    @app.get("/api/errors", include_in_schema=False)
    def errors() -> HTMLResponse:
        return _page("Errors", _table(("code", "HTTP status", "meaning"), _errors()))


def _routes(document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            told = operation.get("description") or operation.get("summary", "")
            yield f"<code>{method.upper()} {escape(path)}</code>", escape(told)


def _errors() -> Iterator[tuple[str, str, str]]:
    found = {error.code: error for error in _tree(CodedError)}
    for code, error in sorted(found.items()):
        yield f'<a id="{code}"></a><code>{code}</code>', str(error.status), title_of(code)


def _tree(root: type[CodedError]) -> Iterator[type[CodedError]]:
    yield root
    for child in root.__subclasses__():
        yield from _tree(child)


def _table(head: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    """Cells are HTML already."""
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return "<table><tr>" + "".join(f"<th>{name}</th>" for name in head) + f"</tr>{body}</table>"


def _page(title: str, body: str) -> HTMLResponse:
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return HTMLResponse(_PAGE.format(title=title, body=body), headers={"Content-Security-Policy": policy})

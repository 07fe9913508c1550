"""`python -m monitor.api` prints the OpenAPI document, as docs/openapi.json holds it."""

from __future__ import annotations

import json
import sys

from monitor.api.app import described_api


def document_text() -> str:
    return json.dumps(described_api().openapi(), indent=1, ensure_ascii=True) + "\n"


if __name__ == "__main__":
    sys.stdout.write(document_text())

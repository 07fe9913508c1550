"""The JSON Schema of the configuration file, for editors and for whoever writes one by program."""

from __future__ import annotations

import json

from monitor.config.schema import ConfigFile

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def json_schema() -> str:
    """The schema as JSON text. What it takes may still break a rule between keys; `monitor config check` knows all."""
    schema = {"$schema": DIALECT, **ConfigFile.model_json_schema(), "title": "providers.yaml"}
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"

"""Reads the JSON objects that lie beside a model's weights."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reference_engine.errors import ModelFileError, ModelNotFoundError

_FETCH_AGAIN = "Fetch the model's files again."


def read_json(path: Path) -> Mapping[str, Any]:
    """The object in `path`. Raises ModelNotFoundError or ModelFileError."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ModelNotFoundError(f"There is no file {path}.", remedy=_FETCH_AGAIN) from None
    except (OSError, ValueError) as error:
        raise ModelFileError(f"{path} is not readable JSON: {error}.", remedy=_FETCH_AGAIN) from error
    if not isinstance(values, dict):
        raise ModelFileError(f"{path} does not hold a JSON object.", remedy=_FETCH_AGAIN)
    return values

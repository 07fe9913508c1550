"""The root of the one error tree, and the engine's branch of it.

    CodedError
    ├── reference_engine.errors.EngineError     exit 6: the reference cannot be used
    │   ├── ModelFileError                      file cut short, unknown format or architecture
    │   ├── ModelNotFoundError                  no such file, or the bundled model was not fetched
    │   └── EngineRequestError                  exit 2: bad ids, template, parameters
    ├── probes.errors.ProbeError                 exit 5: the provider cannot be asked
    └── monitor.errors.MonitorError              configuration, storage, usage

Every error carries a stable `code` (a heading in docs/errors.md), the HTTP `status` the API answers with, the
command's `exit_code`, a message that names the wrong value, and a `remedy`.
"""

from __future__ import annotations

from typing import ClassVar


class CodedError(Exception):
    """An error a user can act on. `str()` is message and remedy; `code` is stable across releases."""

    code: ClassVar[str] = "internal_error"
    status: ClassVar[int] = 500
    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}".strip()


class EngineError(CodedError):
    code = "reference_unavailable"
    status = 503
    exit_code = 6


class ModelFileError(EngineError):
    code = "model_file_invalid"


class ModelNotFoundError(EngineError):
    code = "model_not_found"


class EngineRequestError(EngineError):
    code = "engine_request_invalid"
    status = 400
    exit_code = 2

"""The process that compares: what was asked comes pickled on its standard input, the document leaves as JSON."""

from __future__ import annotations

import json
import pickle
import sys

from monitor.check.consensus import compared
from monitor.errors import StorageError


def main() -> int:
    asked, anchors = pickle.load(sys.stdin.buffer)  # noqa: S301 - the process that started this one wrote it
    try:
        sys.stdout.write(compared(asked, anchors).model_dump_json(by_alias=True))
    except StorageError as error:
        sys.stdout.write(json.dumps({"message": error.message, "remedy": error.remedy}))
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""A process that measures one engine: reads a job on standard input and writes the answer on standard output."""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.engines import further, measure
from benchmarks.engines.job import Job
from benchmarks.engines.subject import NotOfferedError

MEASUREMENTS: Mapping[str, Callable[[Any, Job], Mapping[str, Any]]] = {
    "figures": measure.figures,
    "same_bits": measure.same_bits,
    "prefix_reuse": further.prefix_reuse,
    "repetitive": further.repetitive,
    "exactness": further.exactness,
    "memory": further.memory,
}


def main() -> None:
    # Libraries print as they please; the answer must stand alone.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    with answers:
        json.dump(answer(Job.from_json(sys.stdin.read())), answers)


def answer(job: Job) -> dict[str, Any]:
    about: dict[str, str] = {}

    try:
        module = importlib.import_module(job.module)

        def opened(job: Job) -> Any:
            subject = module.open_subject(job)
            about.update(subject.about())
            return subject

        found = MEASUREMENTS[job.what](opened, job)
    except ModuleNotFoundError as error:
        return {"left_out": f"{error.name} is not installed"}
    except NotOfferedError as error:
        return {"left_out": str(error)}
    return {"found": found, "about": about}


if __name__ == "__main__":
    main()

"""A private suite against an endpoint that costs next to nothing: requests a second, and the growth of memory.

    .venv/bin/python -m benchmarks.evals [--lines 2000] [--rounds 3]

Writes a file in the form of K2-Vendor-Verifier's, imports it, and runs it by the path of `monitor suites run`, in a
process of its own each round; the first round enrols the endpoint.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import yaml

from benchmarks.fake_endpoint import fake_endpoint
from monitor import clock
from monitor.check.eval_suite import EvalSuite
from monitor.check.options import CheckOptions
from monitor.check.run import run_check
from monitor.config import load_config
from monitor.datadir import DataDir
from monitor.store import Store
from monitor.suites.key import SuiteKey
from monitor.suites.suites import Source, Suites
from probes.evals.formats import Reading
from probes.plan import ProbeKind

CONCURRENCY = 8
TOOLS = 8
# The lines declare so many different sets of tools.
SETS = 100
# Connections, caches and the interpreter's own pools are there by then.
_WARM = 200
_MB = 1024 * 1024


@dataclass
class Watched:
    """The progress of a check, with the time and the memory of this process at each answer."""

    at: list[float] = field(default_factory=list)
    rss: list[int] = field(default_factory=list)

    def begin(self, steps: int, what: str) -> None:
        """Nothing to show."""

    def step(self, what: str) -> None:  # noqa: ARG002 - what is asked is known
        self.at.append(time.perf_counter())
        self.rss.append(_rss())


@dataclass(frozen=True)
class Measured:
    """`asking`: requests a second, from the first answer to the last. `whole`: of the check from its start to its
    verdict. `cpu`: milliseconds of this process for a request, in all. Memory in MB: when the items were read, after
    200 answers, after the last, and when the verdict was there."""

    asking: float
    whole: float
    cpu: float
    memory: tuple[float, float, float, float]
    accuracy: str
    verdict: str


def measured(folder: Path, key: bytes) -> Measured:
    (endpoint,) = load_config(folder / "providers.yaml").endpoints("measured")
    data = DataDir(folder / "data")
    with Store.open(data.database, at=clock.now()) as store:
        opened = Suites(store.sessions).open("k2vv", SuiteKey(key))
        record = opened.record
        suite = EvalSuite(record.name, record.version, record.sha256, tuple(opened.items()))
    watched, before = Watched(), _rss()
    begin, cpu = time.perf_counter(), time.process_time()
    document = run_check(endpoint, CheckOptions(probes=(ProbeKind.EVALS,), evals=suite), data, watched)
    seconds, cpu_seconds = time.perf_counter() - begin, time.process_time() - cpu
    (found,) = (rate for rate in document.rates if rate.name == "accuracy")
    (check,) = (check for check in document.checks if check.probe == "evals")
    n = len(watched.at)
    return Measured(
        asking=(n - 1) / (watched.at[-1] - watched.at[0]),
        whole=n / seconds,
        cpu=1000 * cpu_seconds / n,
        memory=(before / _MB, watched.rss[min(_WARM, n) - 1] / _MB, watched.rss[-1] / _MB, _rss() / _MB),
        accuracy=f"{found.numerator:g}/{found.denominator}",
        verdict=f"{check.verdict.value}: {check.reason}",
    )


def write_lines(path: Path, lines: int) -> None:
    """About 5 KB each, of which the tools are most."""
    with path.open("w") as file:
        for number in range(lines):
            file.write(json.dumps(_line(number)) + "\n")


def _line(number: int) -> dict[str, Any]:
    return {
        "messages": [
            {"role": "_input", "content": "You are a research assistant. Search before you answer."},
            {"role": "user", "content": f"Find {number % 9 + 1} papers on subject {number} and say which is newest."},
        ],
        "tools": [_tool("search", number % SETS), *(_tool(f"tool_{at}", number % SETS) for at in range(1, TOOLS))],
        "temperature": 0.6,
        "max_tokens": 4000,
        "stream": True,
        "model": "kimi-k2",
    }


def _tool(name: str, kind: int) -> dict[str, Any]:
    properties = {
        "query": {"type": "string", "description": "What is looked for, in plain words, the more of them the better."},
        "limit": {"type": "integer", "minimum": 1, "description": "How many results there may be at most."},
        "language": {"type": "string", "enum": ["en", "de", "fr", "zh"], "description": f"Of the results {kind}."},
    }
    parameters = {"type": "object", "properties": properties, "required": ["query"], "additionalProperties": False}
    return {"type": "function", "function": {"name": name, "description": f"{name}s.", "parameters": parameters}}


def _rss() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _prepare(folder: Path, base_url: str, lines: int, key: bytes) -> None:
    write_lines(folder / "k2vv.jsonl", lines)
    served = {"model": "lark", "name": "lark"}
    limits = {"max_concurrency": CONCURRENCY}
    provider = {
        "slug": "measured",
        "base_url": base_url,
        "allow_private": True,
        "limits": limits,
        "models": [served],
    }
    (folder / "providers.yaml").write_text(
        yaml.safe_dump({"version": 1, "models": {"lark": {}}, "providers": [provider]})
    )
    data = DataDir(folder / "data")
    data.create()
    with Store.open(data.database, at=clock.now()) as store:
        source = Source(folder / "k2vv.jsonl", Reading(), folder)
        Suites(store.sessions).import_file("k2vv", source, SuiteKey(key), actor="benchmark", at=clock.now())


def _print(found: Measured) -> None:
    memory = " → ".join(f"{each:.1f}" for each in found.memory)
    print(
        f"| {found.asking:.0f} | {found.whole:.0f} | {found.cpu:.2f} | {memory} | {found.accuracy} | {found.verdict} |",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    key = os.urandom(32)
    with tempfile.TemporaryDirectory(prefix="evals-") as name, fake_endpoint() as base_url:
        _prepare(Path(name), base_url, options.lines, key)
        print("| asking, 1/s | whole check, 1/s | CPU, ms | memory, MB | right | verdict |")
        print("| --- | --- | --- | --- | --- | --- |")
        for _ in range(options.rounds):
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
                _print(process.submit(measured, Path(name), key).result())


if __name__ == "__main__":
    main()

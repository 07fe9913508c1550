"""All engines in one run: the same file, as many threads, the same prompts. Prints Markdown tables.

    make bench-peers                       # once: installs llama-cpp-python and openvino-genai into .venv-peers
    .venv/bin/python -m benchmarks.engine [--quick] [--json FILE] [--peers PYTHON]

All of it takes about 25 minutes on two cores, the second table 8 of them and each round of the first 6. Every engine
runs in a process of its own, one at a time, in turn for the rounds; a figure is the median of the rounds, with the
lowest and highest behind it. Of each peer only the files take part that are its best in some column
(line_up.BEST_FILES); --every-file tries all of them. Generation is greedy and does not stop at the end of a sequence.
"Same bits" says whether the log-probabilities of a prompt are those of the prompt alone. Let nothing else run
meanwhile.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.engines.job import CELLS, FULL, QUICK
from benchmarks.engines.line_up import BEST_FILES, EVERY_FILE, Contender, line_up, requantize
from benchmarks.engines.results import RATIOS, Further, Result, further_table, ratio, table
from benchmarks.engines.run import Run, further, measured
from benchmarks.foreign_endpoint import PEERS
from reference_engine.bundle import bundled_path

ROUNDS = 2


def main() -> None:
    options = _options()
    run = Run(
        len(os.sched_getaffinity(0)),
        QUICK if options.quick else FULL,
        1 if options.quick else options.rounds,
        tuple(options.cells),
    )
    machine = _machine(run)
    print(_described(machine), flush=True)
    with tempfile.TemporaryDirectory(prefix="engine-") as folder:
        files = EVERY_FILE if options.every_file else BEST_FILES
        contenders = _chosen(line_up(bundled_path(), options.peers, Path(folder), files), options.only)
        requantize(options.peers, bundled_path(), contenders)
        results, left_out = measured(run, contenders)
    print("\n" + "\n".join(table(results, run.cells)), flush=True)
    for name, reason in left_out.items():
        print(f"\nLeft out: {name}: {reason}.")
    rows = [] if options.first_table_only else further(run, [one for one in contenders if one.ours])
    if rows:
        print("\n" + "\n".join(further_table(rows)))
    if options.json:
        document = _document(run, machine, results, left_out, rows)
        options.json.write_text(json.dumps(document, indent=2, ensure_ascii=False))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one round of fewer tokens: whether everything runs")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="how often each engine is measured")
    parser.add_argument("--peers", type=Path, default=PEERS, help="Python that has the peers")
    parser.add_argument("--only", nargs="+", metavar="NAME", help='engines whose name has this in it, say "ours"')
    parser.add_argument("--every-file", action="store_true", help="peers on every quantization, not on their best ones")
    parser.add_argument("--cells", nargs="+", choices=CELLS, default=CELLS, help="only these columns")
    parser.add_argument("--first-table-only", action="store_true", help="leave out what our engine is to itself")
    parser.add_argument("--json", type=Path, help="also write every figure to this file")
    return parser.parse_args()


def _chosen(contenders: list[Contender], names: list[str] | None) -> list[Contender]:
    return [one for one in contenders if names is None or any(name in one.name for name in names)]


def _machine(run: Run) -> dict[str, Any]:
    models = [line.partition(":")[2].strip() for line in _cpuinfo() if line.startswith("model name")]
    return {
        "processor": models[0] if models else platform.processor(),
        "cores": os.cpu_count(),
        "threads": run.threads,
        "load_before": os.getloadavg()[0],
        "system": platform.platform(),
        "python": platform.python_version(),
    }


def _cpuinfo() -> list[str]:
    file = Path("/proc/cpuinfo")
    return file.read_text().splitlines() if file.exists() else []


def _described(machine: dict[str, Any]) -> str:
    return (
        f"Machine: {machine['processor']}, {machine['cores']} cores, load {machine['load_before']:.1f}, "
        f"{machine['threads']} threads each, Python {machine['python']}."
    )


def _document(
    run: Run, machine: dict[str, Any], results: list[Result], left_out: dict[str, str], rows: list[Further]
) -> dict[str, Any]:
    ratios = {cell: ratio(results, cell) for cell in RATIOS}
    return {
        "machine": machine,
        "rounds": run.rounds,
        "sizes": asdict(run.sizes),
        "engines": [one.as_json() for one in results],
        "left_out": left_out,
        "ratios": {cell: one.value if one else None for cell, one in ratios.items()},
        "ratios_of": {cell: one.as_json() for cell, one in ratios.items() if one},
        "further": [asdict(one) for one in rows],
    }


if __name__ == "__main__":
    main()

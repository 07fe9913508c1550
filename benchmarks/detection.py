"""What `monitor probe` sees of a changed stack behind lawful noise and what it costs; the goals of detection.

    .venv/bin/python -m benchmarks.detection [--noise 0.03] [--n 40] [--repeats 10] [--stacks bf16 nf4 …] [--json FILE]
    .venv/bin/python -m benchmarks.detection --goal G4|all [--quick] [--cache FOLDER]
    .venv/bin/python -m benchmarks.detection --headline [--quick] [--cache FOLDER]
    .venv/bin/python -m benchmarks.detection --rivals D|E [--quick] [--cache FOLDER]

Without a goal, one endpoint (reference-engine serve --profile bf16) behind a proxy that adds normal noise to every
log-probability is enrolled, probed again unchanged, and then served with other stacks under the same address. Prints
one row a probe. With a goal, prints its figures beside their bars; the exit code is 1 where a bar is missed. --headline
prints what detection takes by our streams and by each rival method, at one rate of false alarms; --rivals what the
rivals give beside published figures, and of table E what ours give too. Answers of changed stacks are computed once and
kept in FOLDER, which holds for one state of the lab: empty it after the lab has changed.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.command import PROVIDER, number, probe
from benchmarks.detection_lab import headline
from benchmarks.detection_lab.first_tokens import FirstTokenStore
from benchmarks.detection_lab.goals import GOALS
from benchmarks.detection_lab.goals.figure import Lab, table
from benchmarks.detection_lab.powers import Sizes
from benchmarks.detection_lab.product import rows_ours
from benchmarks.detection_lab.reproduction import rows_d, rows_e
from benchmarks.detection_lab.texts import TextStore
from benchmarks.noise_proxy import noise_proxy
from monitor.local_endpoint import LocalEndpoint

ALL = "all"
SYSTEM_PROMPT = "You are a terse assistant. Answer in one short sentence."
STACKS = {
    "bf16": ("--profile", "bf16"),
    "w8-channel": ("--profile", "w8-channel"),
    "w8-tensor": ("--profile", "w8-tensor"),
    "fp8-e4m3": ("--profile", "fp8-e4m3"),
    "nf4": ("--profile", "nf4"),
    "w4-g64": ("--profile", "w4-g64"),
    "system-prompt": ("--profile", "bf16", "--system-prompt", SYSTEM_PROMPT),
}
CONFIG = """\
version: 1
models:
  smol: {{ reference: {{ weights: bundled, allowed_profiles: [bf16] }} }}
providers:
  - slug: {provider}
    base_url: {base_url}
    allow_private: true
    models: [ {{ model: smol, name: smol }} ]
"""


@dataclass(frozen=True)
class Row:
    """One probe of `stack`, and what its verdict document says."""

    stack: str
    exit_code: int
    verdict: str
    p: float | None
    shift: float | None
    noise: float | None
    detectable: float | None
    requests: int
    tokens: int
    cause: str | None
    weight: float | None
    fidelity: float | None
    nearest: str | None


def row_of(stack: str, exit_code: int, document: dict[str, Any]) -> Row:
    logprobs = next(check for check in document["checks"] if check["probe"] == "logprobs")
    cause = logprobs["causes"][0] if logprobs["causes"] else {"name": None, "weight": None}
    return Row(
        stack=stack,
        exit_code=exit_code,
        verdict=document["verdict"],
        p=logprobs["p"],
        shift=logprobs["value"],
        noise=logprobs["baseline"],
        detectable=logprobs["detectable"],
        requests=document["cost"]["requests"],
        tokens=document["cost"]["tokens_in"] + document["cost"]["tokens_out"],
        cause=cause["name"],
        weight=cause["weight"],
        fidelity=document["fidelity"]["value"],
        nearest=document["fidelity"]["nearest"],
    )


def measure(*, noise: float, n: int, repeats: int, stacks: list[str], seed: int = 0) -> list[Row]:
    """Enrol bf16, probe it `repeats` times, then every other stack once. The first row is the enrolment."""
    with ExitStack() as open_things:
        folder = Path(open_things.enter_context(tempfile.TemporaryDirectory(prefix="detection-")))
        local = open_things.enter_context(LocalEndpoint(folder / "endpoint.log"))
        upstream = local.base_url.removesuffix("/v1")
        proxy = open_things.enter_context(noise_proxy(upstream, deviation=noise, seed=seed))
        (folder / "providers.yaml").write_text(CONFIG.format(provider=PROVIDER, base_url=f"{proxy}/v1"))
        options = ("--probe", "logprobs", "--probe", "accounting", "--n", str(n))
        local.serve(STACKS["bf16"])
        rows = [row_of("bf16", *probe(folder, *options)) for _ in range(repeats + 1)]
        for stack in stacks:
            local.serve(STACKS[stack])
            rows.append(row_of(stack, *probe(folder, *options)))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--noise", type=float, default=0.03, help="standard deviation per value, nats")
    parser.add_argument("--n", type=int, default=40, help="single-token requests a run")
    parser.add_argument("--repeats", type=int, default=10, help="probes of the unchanged endpoint after enrolment")
    parser.add_argument("--seed", type=int, default=0, help="of the noise")
    parser.add_argument(
        "--stacks", nargs="*", choices=list(STACKS), default=[name for name in STACKS if name != "bf16"]
    )
    parser.add_argument("--json", type=Path, help="also write the rows to this file")
    parser.add_argument("--goal", choices=[*GOALS, ALL], help="measure one goal, or all, in place of the probes")
    parser.add_argument("--headline", action="store_true", help="print ours and the rivals, change by change")
    parser.add_argument("--rivals", choices=["D", "E"], help="print the rivals beside this table of published figures")
    parser.add_argument("--quick", action="store_true", help="smaller grids and fewer repetitions, the same bars")
    parser.add_argument("--cache", type=Path, help="where answers are kept; by default nowhere")
    options = parser.parse_args()
    if options.goal or options.rivals or options.headline:
        with tempfile.TemporaryDirectory(prefix="detection-lab-") as own:
            folder = options.cache or Path(own)
            lab = Lab(FirstTokenStore(folder), TextStore(folder), quick=options.quick, seed=options.seed)
            sys.exit(show(lab, options))
    rows = measure(noise=options.noise, n=options.n, repeats=options.repeats, stacks=options.stacks, seed=options.seed)
    print_table(rows)
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=2))


def show(lab: Lab, options: argparse.Namespace) -> int:
    """The exit code."""
    if options.headline:
        print("\n".join(headline.lines(lab)))
        return 0
    if options.rivals:
        return show_rivals(lab, options.rivals)
    return max(show_goal(lab, name) for name in (GOALS if options.goal == ALL else [options.goal]))


def show_goal(lab: Lab, name: str) -> int:
    began = time.monotonic()
    figures = GOALS[name](lab)
    print(f"\n{name}, {time.monotonic() - began:.0f} s\n")
    print("\n".join(table(figures)), flush=True)
    return 0 if all(figure.met for figure in figures) else 1


def show_rivals(lab: Lab, name: str) -> int:
    if name == "D":
        print("\n".join(rows_d(lab.first, 100 if lab.quick else 801)))
    else:
        sizes = Sizes(20, 14) if lab.quick else Sizes()
        print("\n".join([*rows_e(lab.texts, sizes), "", *rows_ours(lab.texts, sizes, lab.seed)]))
    return 0


def print_table(rows: list[Row]) -> None:
    print("| served | verdict | p | shift, nat | noise, nat | would see, nat | requests | cause | nearest |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for i, row in enumerate(rows):
        name = f"{row.stack}, enrolment" if i == 0 else row.stack
        values = [number(row.p, "{:.1e}"), number(row.shift, "{:.3f}"), number(row.noise, "{:.3f}")]
        values += [number(row.detectable, "{:.3f}"), str(row.requests)]
        cause = "–" if row.cause is None or row.weight is None else f"{row.cause} {row.weight:.0%}"
        print("| " + " | ".join([name, row.verdict, *values, cause, row.nearest or "–"]) + " |")


if __name__ == "__main__":
    main()

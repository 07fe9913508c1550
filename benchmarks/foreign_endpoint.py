"""Probe a stack we did not write: llama.cpp's OpenAI server, on the bundled file and on re-quantizations of it.

    make bench-peers                       # once: installs llama-cpp-python[server] into .venv-peers
    .venv/bin/python -m benchmarks.foreign_endpoint [--repeats 3] [--json FILE]

Enrols the endpoint, probes it again unchanged, then serves Q8_0 and Q4_0 of the same weights under the same name and
address. Prints one row a probe, as Markdown.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.command import PROVIDER, number, probe
from reference_engine.bundle import bundled_path
from tests.servers.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
PEERS = ROOT / ".venv-peers" / "bin" / "python"
QUANTIZE = """
import sys
import llama_cpp
source, target, kind = sys.argv[1:]
params = llama_cpp.llama_model_quantize_default_params()
params.ftype = getattr(llama_cpp, "LLAMA_FTYPE_MOSTLY_" + kind)
params.allow_requantize = True
params.nthread = 2
sys.exit(llama_cpp.llama_model_quantize(source.encode(), target.encode(), params))
"""
CONFIG = """\
version: 1
models:
  smol: {{ reference: {{ weights: bundled, allowed_profiles: [fp32, bf16] }} }}
providers:
  - slug: {provider}
    base_url: http://127.0.0.1:{port}/v1
    allow_private: true
    limits: {{ max_concurrency: 1 }}
    models: [ {{ model: smol, name: smol }} ]
"""


@dataclass(frozen=True)
class Row:
    """One probe: what was served, and what the verdict document says of it."""

    served: str
    verdict: str
    drift_p: float | None
    shift: float | None
    tokens: int
    fidelity: float | None
    fidelity_verdict: str
    nearest: str | None
    cause: str | None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", type=Path, default=PEERS, help="Python that has llama-cpp-python[server]")
    parser.add_argument("--repeats", type=int, default=3, help="probes of the unchanged endpoint after enrolment")
    parser.add_argument("--json", type=Path, help="also write the rows to this file")
    options = parser.parse_args()
    if not options.peers.exists():
        sys.exit(f"{options.peers} does not exist: run `make bench-peers`, or name another with --peers.")
    with tempfile.TemporaryDirectory(prefix="foreign-endpoint-") as folder:
        rows = measure(Path(folder), options.peers, options.repeats)
    print_table(rows)
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=2))


def measure(folder: Path, peers: Path, repeats: int) -> list[Row]:
    port = free_port()
    (folder / "providers.yaml").write_text(CONFIG.format(provider=PROVIDER, port=port))
    rows = []
    with serving(peers, bundled_path(), port, folder / "server.log"):
        rows.append(row_of("Q4_1 as bundled, enrolment", *probe(folder)))
        rows += [row_of("Q4_1 as bundled, unchanged", *probe(folder)) for _ in range(repeats)]
    for kind in ("Q8_0", "Q4_0"):
        file = folder / f"{kind}.gguf"
        with (folder / "quantize.log").open("ab") as log:
            command = [str(peers), "-c", QUANTIZE, str(bundled_path()), str(file), kind]
            subprocess.run(command, check=True, stdout=log, stderr=log)
        with serving(peers, file, port, folder / "server.log"):
            rows.append(row_of(f"{kind}, re-quantized", *probe(folder)))
    return rows


@contextmanager
def serving(peers: Path, model: Path, port: int, log_file: Path) -> Iterator[None]:
    command = [str(peers), "-m", "llama_cpp.server", "--model", str(model), "--port", str(port)]
    command += ["--n_ctx", "2048", "--logits_all", "True", "--model_alias", "smol"]
    with log_file.open("ab") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        wait_until_ready(server, f"http://127.0.0.1:{port}/v1/models", log_file)
        yield
    finally:
        server.terminate()
        server.wait()


def wait_until_ready(server: subprocess.Popen[bytes], url: str, log_file: Path) -> None:
    for _ in range(600):
        if server.poll() is not None:
            sys.exit(f"llama.cpp's server ended:\n{log_file.read_text(errors='replace')[-2000:]}")
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    sys.exit("llama.cpp's server did not get ready within two minutes.")


def row_of(served: str, _exit_code: int, document: dict[str, Any]) -> Row:
    logprobs = next(check for check in document["checks"] if check["probe"] == "logprobs")
    fidelity = document["fidelity"]
    cost = document["cost"]
    return Row(
        served,
        document["verdict"],
        logprobs["p"],
        logprobs["value"],
        cost["tokens_in"] + cost["tokens_out"],
        fidelity["value"],
        fidelity["verdict"],
        fidelity["nearest"],
        logprobs["causes"][0]["name"] if logprobs["causes"] else None,
    )


def print_table(rows: list[Row]) -> None:
    print("| served | verdict | drift p | shift, nat | tokens | fidelity, nat | fidelity | nearest | cause |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for row in rows:
        cells = [row.served, row.verdict, number(row.drift_p, "{:.1e}"), number(row.shift, "{:.3f}"), str(row.tokens)]
        cells += [number(row.fidelity, "{:.3f}"), row.fidelity_verdict, row.nearest or "–", row.cause or "–"]
        print("| " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()

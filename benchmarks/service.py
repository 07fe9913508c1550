"""What the service itself costs: recording probes, asking, memory, and growth. Prints Markdown tables.

    .venv/bin/python -m benchmarks.service [--only recording client embedded growth] [--seconds 180]

Ratios and CPU seconds are less moved by whatever else the machine does than times on the clock are.
"""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Iterator, Sequence

from benchmarks.client_overhead import CONCURRENCY, client_overhead
from benchmarks.embedded import ENDPOINTS, REAL_EVERY_S, embedded, pss, rss
from benchmarks.growth import SIZES, Grown, grown
from benchmarks.recording import EMBEDDED, PRODUCTION, recorded

PARTS = ("recording", "client", "embedded", "growth")
DELAYS = (0.0, 0.02)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="only these parts")
    parser.add_argument("--seconds", type=float, default=180.0, help="how long memory is watched")
    options = parser.parse_args()
    print(f"Machine: {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Python {platform.python_version()}.")
    for part in PARTS:
        if part in options.only:
            print("\n" + "\n".join(_lines(part, options.seconds)), flush=True)


def _lines(part: str, seconds: float) -> Iterator[str]:
    match part:
        case "recording":
            return _recording()
        case "client":
            return _client()
        case "embedded":
            return _embedded(seconds)
        case _:
            return _growth()


def _recording() -> Iterator[str]:
    yield from _head("recorded", "samples", "seconds", "samples/s", "workers' CPU per sample")
    for setting in (PRODUCTION, EMBEDDED):
        found = recorded(setting)
        rate, cpu = found.samples / found.seconds, found.cpu / found.samples * 1e3
        yield _row(setting.name, found.samples, f"{found.seconds:.1f}", f"{rate:.0f}", f"{cpu:.1f} ms")


def _client() -> Iterator[str]:
    yield from _head(f"client over httpx, {CONCURRENCY} at a time", "CPU per request", "CPU ratio", "time ratio")
    for delay in DELAYS:
        found = client_overhead(delay)
        ours, raw = (min(one.cpu for one in some) * 1e3 for some in (found.ours, found.raw))
        yield _row(
            f"an answer takes {delay * 1e3:.0f} ms",
            f"{ours:.2f} ms against {raw:.2f} ms",
            f"{found.cpu_ratio:.2f}",
            f"{found.wall_ratio:.2f}",
        )


def _embedded(seconds: float) -> Iterator[str]:
    found = embedded(seconds)
    yield from _head(f"monitor up, {ENDPOINTS} endpoints", "RSS", "PSS")
    for process in found.processes:
        yield _row(process.name, _megabytes(process.rss), _megabytes(process.pss))
    yield _row("all, without the engine", _megabytes(rss(found.processes)), _megabytes(pss(found.processes)))
    yield _row("all, for a minute after a chart", _megabytes(rss(found.drawn)), _megabytes(pss(found.drawn)))
    yield ""
    yield (
        f"{found.checks} checks in {found.seconds:.0f} s, {found.failed} failed: {found.faster:.1f} times as fast as "
        f"every {REAL_EVERY_S} s."
    )


def _growth() -> Iterator[str]:
    names = ("start", "tick, all due", "tick, none due", "check", "fan-out")
    yield from _head("endpoints", *(f"{name}, CPU ms" for name in names))
    found = [grown(size) for size in SIZES]
    for one in found:
        yield _row(one.endpoints, *(f"{value * 1e3:.1f}" for value in _values(one)))
    first, last = found[0], found[-1]
    ratios = [b / a for a, b in zip(_values(first), _values(last), strict=True)]
    yield _row(f"× {last.endpoints / first.endpoints:.0f}", *(f"× {ratio:.1f}" for ratio in ratios))


def _values(one: Grown) -> Sequence[float]:
    return (one.start, one.due, one.idle, one.check, one.outbox)


def _head(*cells: str) -> Iterator[str]:
    yield _row(*cells)
    yield _row(*("---" for _ in cells))


def _row(*cells: object) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.0f} MB"


if __name__ == "__main__":
    main()
